import { mailedPages } from '@keyrail/contract/mailed-pages'
import type { CreatedInvite } from '@keyrail/contract/vendor/invites'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { mailFolderNote } from '../../components/mail-folder.ts'
import { PageFrame } from '../../components/page-frame.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { Section } from '../../components/section.tsx'
import { useHasRole } from '../../session/me.ts'
import { useCreating } from '../../shell/use-creating.ts'
import { LivingKeys } from '../secret-keys/living-keys.tsx'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import type { Leftover } from './person.ts'
import { Roster } from './roster.tsx'

/** People of the workspace and their roles, and who is invited. */
export function Members() {
  const isOwner = useHasRole('owner')
  const [isInviting, setInviting] = useCreating(isOwner)
  const [invited, setInvited] = useState<CreatedInvite | null>(null)
  const [leftover, setLeftover] = useState<Leftover | null>(null)
  return (
    <PageFrame
      title="Members"
      lead={
        isOwner
          ? 'A member sees everything. An admin also changes projects, tenants and keys. An owner also decides about people.'
          : 'Only an owner can invite, change or remove people.'
      }
      action={isOwner ? <Button onClick={() => setInviting(true)}>Invite person</Button> : undefined}
    >
      <Section title="People">
        <Roster onLeftover={setLeftover} />
      </Section>
      <Section title="Invitations" lead="A link works once, for 7 days.">
        <Invitations onInvited={setInvited} />
      </Section>
      <InviteDialog isOpen={isInviting} onClose={() => setInviting(false)} onInvited={setInvited} />
      <SecretDialog
        secret={invited === null ? null : invited.token === undefined ? '' : linkOf(invited.token)}
        title={`Invitation for ${invited?.email ?? ''}`}
        noun="link"
        ifLost="The e-mail has a link of its own. If it does not arrive, choose “Resend” in the list: that shows you a new link."
        onClose={() => setInvited(null)}
      >
        <p>
          An e-mail with a link of its own is on its way to {invited?.email}. Pass this link on if it does not
          arrive. Any account with a verified address can use it, once: give it to this person only.
        </p>
        {mailFolderNote === null ? null : <p>{mailFolderNote}</p>}
      </SecretDialog>
      <LivingKeys
        title={`Secret keys of ${leftover?.of ?? ''}`}
        lead="These keys still work, also for a person who has copied them. Revoke those that nothing of yours uses."
        keys={leftover?.keys ?? null}
        onClose={() => setLeftover(null)}
      />
    </PageFrame>
  )
}

const linkOf = (token: string) => `${location.origin}${mailedPages.acceptInvite}#token=${token}`
