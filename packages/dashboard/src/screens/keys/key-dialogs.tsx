import type { Key } from '@keyrail/contract/vendor/keys'
import { EditKeyDialog } from './edit-key.tsx'
import type { KeyChange } from './key-changes.ts'
import { ResumeKeyDialog } from './resume-key.tsx'
import { RotateKeyDialog } from './rotate-key.tsx'
import { StopKeyDialog } from './stop-key.tsx'

interface KeyDialogsProps {
  readonly of: Key
  readonly open: KeyChange | null
  readonly onClose: () => void
}

/** They outlive what opened them: one may show a new key, or count the nodes that refuse this one. */
export const KeyDialogs = ({ of: key, open, onClose }: KeyDialogsProps) => (
  <>
    <EditKeyDialog of={key} isOpen={open === 'edit'} onClose={onClose} />
    <RotateKeyDialog of={key} isOpen={open === 'rotate'} onClose={onClose} />
    <StopKeyDialog of={key} stop="pause" isOpen={open === 'pause'} onClose={onClose} />
    <ResumeKeyDialog of={key} isOpen={open === 'resume'} onClose={onClose} />
    <StopKeyDialog of={key} stop="revoke" isOpen={open === 'revoke'} onClose={onClose} />
  </>
)
