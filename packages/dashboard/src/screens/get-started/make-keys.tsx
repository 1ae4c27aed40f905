import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { createKey } from '../../api/keys.ts'
import { createSecretKey } from '../../api/secret-keys.ts'
import { Trouble } from '../../components/trouble.tsx'
import { useOnce } from '../../components/use-once.ts'
import { useSending } from '../../components/use-sending.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import type { Facts } from './facts.ts'
import classes from './get-started.module.css'
import type { Made } from './get-started.tsx'

export interface MakingProps {
  readonly facts: Facts
  readonly onMade: (made: Made) => void
}

export function KeyButton({ facts: { project, tenant }, onMade }: MakingProps) {
  const env = useEnv()
  const once = useOnce()
  return (
    <MakeButton
      label="Create key"
      make={async () => {
        if (project === null || tenant === null) return
        const { key = '' } = await once(createKey, [project.id, tenant.id, env], () => ({
          body: { project_id: project.id, tenant_id: tenant.id, env, name: 'First key' },
        }))
        onMade({ kind: 'key', text: key })
      }}
    />
  )
}

interface SecretKeyButtonProps extends MakingProps {
  readonly isAnother: boolean
}

export function SecretKeyButton({ facts: { project }, onMade, isAnother }: SecretKeyButtonProps) {
  const env = useEnv()
  const once = useOnce()
  return (
    <MakeButton
      label={isAnother ? 'Create another secret key' : 'Create secret key'}
      isPrimary={!isAnother}
      make={async () => {
        if (project === null) return
        const { key = '' } = await once(createSecretKey, [project.id, env], () => ({
          body: { env, name: 'First server', preset: 'node' as const, project_ids: [project.id] },
        }))
        onMade({ kind: 'secret', text: key })
      }}
    />
  )
}

interface MakeButtonProps {
  readonly label: string
  readonly isPrimary?: boolean
  readonly make: () => Promise<void>
}

function MakeButton({ label, isPrimary = true, make }: MakeButtonProps) {
  const client = useQueryClient()
  const [{ isBusy, trouble }, send] = useSending()
  const run = async () => {
    await make()
    await client.invalidateQueries()
  }
  return (
    <div className={classes.work}>
      <Button {...(!isPrimary && { variant: 'default' })} loading={isBusy} onClick={() => void send(run)}>
        {label}
      </Button>
      {trouble === null ? null : <Trouble error={trouble} />}
    </div>
  )
}
