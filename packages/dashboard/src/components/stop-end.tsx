import { Button, Group } from '@mantine/core'
import { Trouble } from './trouble.tsx'

interface StopEndProps {
  /** Why the wait failed; null: it did not. */
  readonly error: unknown
  /** Whether the wait ended before every node had the change. */
  readonly isUnfinished: boolean
  readonly onWait: () => void
  readonly onClose: () => void
}

/** The end of a dialog that waits for nodes: the wait can be repeated, and the dialog closed. */
export const StopEnd = ({ error, isUnfinished, onWait, onClose }: StopEndProps) => (
  <>
    {error === null ? null : <Trouble error={error} onRetry={onWait} />}
    <Group justify="flex-end" gap="xs">
      {isUnfinished ? (
        <Button variant="default" onClick={onWait}>
          Wait again
        </Button>
      ) : null}
      <Button variant="default" onClick={onClose}>
        Done
      </Button>
    </Group>
  </>
)
