import { Button, Skeleton, Stack } from '@mantine/core'
import { Link, useRouter } from '@tanstack/react-router'
import { isPartMissing } from '../missing-part.ts'
import { DoorFrame } from './door-frame.tsx'
import { PageFrame } from './page-frame.tsx'
import { PartMissing } from './part-missing.tsx'
import { Trouble } from './trouble.tsx'

/** While the code of a screen loads. */
export const PagePending = () => (
  <Stack gap="lg" p="lg" maw={1200} mx="auto" aria-busy="true">
    <Skeleton h={36} w={220} />
    <Skeleton h={320} />
  </Stack>
)

/** A screen that could not be shown at all. */
export function PageFailed({ error }: { error: unknown }) {
  const router = useRouter()
  if (isPartMissing(error)) return <PartMissing />
  return (
    <PageFrame title="This page could not be shown">
      <Trouble error={error} onRetry={() => void router.invalidate()} />
    </PageFrame>
  )
}

/** The shell itself could not be shown, for example because the service cannot be reached. */
export const ShellFailed = ({ error }: { error: unknown }) => (
  <main>
    <PageFailed error={error} />
  </main>
)

export const PageMissing = () => (
  <DoorFrame title="Page not found" lead="This address leads to no page of the dashboard.">
    <Button fullWidth renderRoot={props => <Link to="/" {...props} />}>
      Go to the overview
    </Button>
  </DoorFrame>
)
