import type {
  CreatedSecretKey,
  Descendants,
  RotatedSecretKey,
  SecretKey,
} from '@keyrail/contract/vendor/secret-keys'
import { Button, Switch } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { CodeBlock } from '../../components/code-block.tsx'
import { Empty } from '../../components/empty.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { useHasRole } from '../../session/me.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { useCreating } from '../../shell/use-creating.ts'
import { CreateSecretKey } from './create-secret-key.tsx'
import { LivingKeys } from './living-keys.tsx'
import { RevokeSecretKey } from './revoke-secret-key.tsx'
import { RotateSecretKey } from './rotate-secret-key.tsx'
import { SecretKeyTable } from './secret-key-table.tsx'
import classes from './secret-keys.module.css'

const route = getRouteApi('/shell/settings/secret-keys')

/** Credentials of the company's own servers, in the shown environment. */
export function SecretKeys() {
  const env = useEnv()
  const isAdmin = useHasRole('admin')
  const showsRevoked = route.useSearch().revoked === 'shown'
  const navigate = route.useNavigate()
  const [isCreating, setCreating] = useCreating(isAdmin)
  const [issued, setIssued] = useState<CreatedSecretKey | RotatedSecretKey | null>(null)
  const [rotating, setRotating] = useState<SecretKey | null>(null)
  const [revoking, setRevoking] = useState<SecretKey | null>(null)
  const [living, setLiving] = useState<Descendants | null>(null)
  const secret = issued === null ? null : (issued.key ?? '')
  return (
    <PageFrame
      title="Secret keys"
      lead={
        isAdmin
          ? 'Your own servers call Keyrail with them. They do not belong on a page or in an app.'
          : 'Your own servers call Keyrail with them. Only an admin or an owner can create or change them.'
      }
      action={isAdmin ? <Button onClick={() => setCreating(true)}>Create secret key</Button> : undefined}
    >
      <div className={classes.filters}>
        <Switch
          label="Show revoked"
          checked={showsRevoked}
          onChange={event => {
            const revoked = event.currentTarget.checked ? ('shown' as const) : undefined
            void navigate({ search: now => ({ ...now, revoked }), replace: true })
          }}
        />
      </div>
      <SecretKeyTable
        showsRevoked={showsRevoked}
        changes={isAdmin ? { onRotate: setRotating, onRevoke: setRevoking } : null}
        empty={
          <Empty title={`No secret keys in ${env}`}>
            {isAdmin
              ? 'Choose “Create secret key”, and type what the key is for.'
              : 'An admin or an owner creates them.'}
          </Empty>
        }
      />
      <CreateSecretKey isOpen={isCreating} onClose={() => setCreating(false)} onCreated={setIssued} />
      <RotateSecretKey secretKey={rotating} onClose={() => setRotating(null)} onIssued={setIssued} />
      <SecretDialog
        secret={secret}
        title={`Secret key ${issued?.name ?? ''}`}
        noun="secret key"
        ifLost="Rotate it in the list, with an overlap of 0 hours. That shows you a new one and ends the one that you did not see."
        onClose={() => setIssued(null)}
      >
        <p>It belongs in the configuration of your server, as KEYRAIL_SECRET_KEY.</p>
        <CodeBlock
          isWrapped
          label="Give it to a server"
          samples={[{ name: 'shell', code: `export KEYRAIL_SECRET_KEY=${secret ?? ''}` }]}
        />
      </SecretDialog>
      <RevokeSecretKey secretKey={revoking} onClose={() => setRevoking(null)} onLiving={setLiving} />
      <LivingKeys
        title="Keys that live on"
        lead="Keys that were made with the revoked one, or with those, still work. Revoke those that nothing of yours uses."
        keys={living}
        onClose={() => setLiving(null)}
      />
    </PageFrame>
  )
}
