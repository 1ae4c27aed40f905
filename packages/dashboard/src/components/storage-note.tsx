import { Text } from '@mantine/core'
import { isStorageDenied } from '../session/storage.ts'

/** Says what a browser that keeps nothing for this page means for the session that begins. */
export const StorageNote = () =>
  isStorageDenied ? (
    <Text size="sm" c="dimmed" role="note">
      Your browser blocks cookies and site data for this page. You stay signed in until you load the page
      again.
    </Text>
  ) : null
