import { Anchor, Button, Group } from '@mantine/core'
import { ApiError } from '../api/api-error.ts'
import { OfflineIcon, WarningIcon } from '../icons.tsx'
import { CopyText } from './copy-text.tsx'
import classes from './trouble.module.css'

interface TroubleProps {
  readonly error: unknown
  /** Absent where a repeat makes no sense, such as in a form. */
  readonly onRetry?: (() => void) | undefined
}

/** Why an action failed: the message of the service, the page about its code, and the request id for the operator. */
export function Trouble({ error, onRetry }: TroubleProps) {
  const known = error instanceof ApiError ? error : null
  const isOffline = known?.status === 0
  return (
    <div className={classes.trouble} role="alert">
      <span className={classes.icon}>{isOffline ? <OfflineIcon /> : <WarningIcon />}</span>
      <div>
        <p className={classes.detail}>{sentence(textOf(error))}</p>
        {known?.requestId == null ? null : (
          <p className={classes.more}>
            Request <CopyText text={known.requestId} label="Copy the request id" />
          </p>
        )}
        <Group gap="md">
          {known?.docsLink == null || known.status < 400 ? null : (
            <Anchor size="sm" underline="always" href={known.docsLink} target="_blank" rel="noreferrer">
              About {known.code}
            </Anchor>
          )}
          {onRetry === undefined ? null : (
            <Button variant="default" size="xs" onClick={onRetry}>
              Try again
            </Button>
          )}
        </Group>
      </div>
    </div>
  )
}

/** What happened, in a sentence. */
export function textOf(error: unknown): string {
  if (!(error instanceof ApiError)) return 'The dashboard failed. Load the page again.'
  if (error.status === 429 || error.status === 503) {
    const seconds = error.retryAfterSeconds ?? 0
    return `Keyrail is busy. Try again ${seconds > 1 ? `in ${seconds} seconds` : 'in a moment'}.`
  }
  return error.detail
}

/** A text of the service, written as the page writes. */
export const sentence = (text: string) => {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.?]$/.test(capital) ? capital : `${capital}.`
}
