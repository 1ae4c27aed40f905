import { callSamples } from '../../components/call-samples.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'

interface KeySecretProps {
  readonly secret: string | null
  readonly title: string
  readonly onClose: () => void
}

/** Shows a key once, with a line to try it. */
export const KeySecret = ({ secret, title, onClose }: KeySecretProps) => (
  <SecretDialog secret={secret} title={title} noun="key" ifLost={ifLost} onClose={onClose}>
    {secret === null ? null : (
      <CodeBlock
        isWrapped
        label="Try the key on your API"
        samples={callSamples('https://YOUR_API/', secret)}
      />
    )}
  </SecretDialog>
)

const ifLost =
  'Rotate it on its page, with an overlap of 0 hours. That shows you a new key and ends the one that you did not see.'
