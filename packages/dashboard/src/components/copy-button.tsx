import { ActionIcon, Button, VisuallyHidden } from '@mantine/core'
import { useEffect, useState } from 'react'
import { CheckIcon, CopyIcon } from '../icons.tsx'
import { copy } from './copy.ts'

const feedbackMs = 2_000

/** Copies a text and says so, also to those who do not see it. */
function useCopy(text: string) {
  const [outcome, setOutcome] = useState<'copied' | 'failed' | null>(null)
  useEffect(() => {
    if (outcome === null) return
    const timer = setTimeout(() => setOutcome(null), feedbackMs)
    return () => clearTimeout(timer)
  }, [outcome])
  const announced =
    outcome === 'copied' ? 'Copied' : outcome === 'failed' ? 'Copying failed. Select the text.' : ''
  return {
    outcome,
    run: async () => setOutcome((await copy(text)) ? 'copied' : 'failed'),
    status: (
      <VisuallyHidden role="status" component="span">
        {announced}
      </VisuallyHidden>
    ),
  }
}

interface CopyProps {
  readonly text: string
  /** Names the thing: "Copy the key". */
  readonly label: string
}

/** A small button beside what it copies. */
export function CopyIconButton({ text, label }: CopyProps) {
  const { outcome, run, status } = useCopy(text)
  return (
    <>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} title={label} onClick={run}>
        {outcome === 'copied' ? <CheckIcon size={14} /> : <CopyIcon size={14} />}
      </ActionIcon>
      {status}
    </>
  )
}

interface CopyButtonProps extends CopyProps {
  readonly isPrimary?: boolean
  readonly onCopied?: () => void
}

/** A button that says what it copies. */
export function CopyButton({ text, label, isPrimary = false, onCopied }: CopyButtonProps) {
  const { outcome, run, status } = useCopy(text)
  return (
    <>
      <Button
        variant={isPrimary ? 'filled' : 'default'}
        leftSection={outcome === 'copied' ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
        onClick={async () => {
          await run()
          onCopied?.()
        }}
      >
        {outcome === 'copied' ? 'Copied' : label}
      </Button>
      {status}
    </>
  )
}
