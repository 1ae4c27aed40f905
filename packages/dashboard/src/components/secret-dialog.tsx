import { Button, Checkbox, Group, Modal, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { CopyButton } from './copy-button.tsx'
import end from './dialog-end.module.css'
import classes from './secret-dialog.module.css'
import { useBackAsks } from './use-back-asks.ts'

interface SecretDialogProps {
  /**
   * Null: the dialog is closed. Empty: the answer with the secret was lost, and the service repeated its answer without the secret.
   * The caller forgets the secret when the dialog closes.
   */
  readonly secret: string | null
  readonly title: string
  /** The noun: "key", "secret key", "link". */
  readonly noun: string
  /** How to get another secret when this one was lost. */
  readonly ifLost: string
  /** How to try the secret, shown below it. */
  readonly children?: ReactNode
  readonly onClose: () => void
}

/** Shows a secret once. It closes when the person says that it is stored, and asks before it closes otherwise. */
export function SecretDialog({ secret, ...rest }: SecretDialogProps) {
  if (secret === null) return null
  if (secret === '') return <LostSecret {...rest} />
  return <OpenSecretDialog key={secret} secret={secret} {...rest} />
}

/** Tells the person that a secret exists which nobody has seen. */
const LostSecret = ({ title, noun, ifLost, onClose }: Omit<SecretDialogProps, 'secret'>) => (
  <Modal opened title={title} onClose={onClose} closeButtonProps={{ 'aria-label': 'Close' }}>
    <Stack gap="md">
      <p className={classes.lead}>
        The {noun} exists since your first try, but its answer was lost on the way. Keyrail keeps no copy and
        cannot show it again.
      </p>
      <p>{ifLost}</p>
      <Group justify="flex-end">
        <Button onClick={onClose}>Close</Button>
      </Group>
    </Stack>
  </Modal>
)

function OpenSecretDialog({
  secret,
  title,
  noun,
  children,
  onClose,
}: Omit<SecretDialogProps, 'ifLost'> & { secret: string }) {
  const [isStored, setStored] = useState(false)
  const [isAsking, setAsking] = useState(false)
  useEffect(() => {
    if (isStored) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isStored])
  useBackAsks(
    () => !isStored,
    () => setAsking(true),
  )
  return (
    <Modal
      opened
      size="lg"
      title={title}
      onClose={() => (isStored ? onClose() : setAsking(true))}
      withCloseButton={false}
    >
      <Stack gap="md">
        <p className={classes.lead}>Copy the {noun} now. Keyrail keeps no copy and cannot show it again.</p>
        <code className={classes.secret} data-secret>
          {secret}
        </code>
        <CopyButton text={secret} label={`Copy ${noun}`} isPrimary />
        {children}
        <div className={end.end}>
          {isAsking && !isStored ? (
            <div className={classes.ask} role="alert">
              <p className={classes.lead}>Close without storing it? The {noun} is lost then.</p>
              <Group gap="xs">
                <Button variant="default" onClick={() => setAsking(false)}>
                  Keep open
                </Button>
                <Button color="red" variant="outline" onClick={onClose}>
                  Close anyway
                </Button>
              </Group>
            </div>
          ) : null}
          <Group justify="space-between" wrap="nowrap">
            <Checkbox
              label="I have stored it"
              checked={isStored}
              onChange={event => {
                setStored(event.currentTarget.checked)
                setAsking(false)
              }}
            />
            <Button variant="default" disabled={!isStored} onClick={onClose}>
              Done
            </Button>
          </Group>
        </div>
      </Stack>
    </Modal>
  )
}
