import type { Descendants, SecretKey } from '@keyrail/contract/vendor/secret-keys'
import { Badge, Button, Group, Modal, Stack } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { revokeSecretKey } from '../../api/secret-keys.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Trouble } from '../../components/trouble.tsx'
import classes from './secret-keys.module.css'

interface LivingKeysProps {
  /** Null: the dialog is closed. */
  readonly keys: Descendants | null
  readonly title: string
  readonly lead: string
  readonly onClose: () => void
}

/** Secret keys that outlive their maker, with a way to revoke each. */
export const LivingKeys = ({ keys, title, lead, onClose }: LivingKeysProps) => (
  <Modal
    opened={keys !== null}
    size="lg"
    title={title}
    onClose={onClose}
    closeButtonProps={{ 'aria-label': 'Close' }}
  >
    <Stack gap="md">
      <p>{lead}</p>
      <ul className={classes.living}>
        {keys?.data.map(key => (
          <LivingKey key={key.id} secretKey={key} />
        ))}
      </ul>
      {keys !== null && keys.count > keys.data.length ? (
        <p>
          These are the newest {keys.data.length} of {keys.count}. The list of secret keys has all of them.
        </p>
      ) : null}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Done
        </Button>
      </Group>
    </Stack>
  </Modal>
)

function LivingKey({ secretKey }: { secretKey: SecretKey }) {
  const { id, name, display_prefix, env, role, last_used_at } = secretKey
  const client = useQueryClient()
  const [state, setState] = useState<'living' | 'asking' | 'busy' | 'revoked'>('living')
  const [error, setError] = useState<unknown>(null)
  const shown = name ?? display_prefix
  const revoke = async () => {
    setState('busy')
    setError(null)
    try {
      await revokeSecretKey({ id, body: { reason: 'its maker has left' } })
      setState('revoked')
      await client.invalidateQueries({ queryKey: ['secret-keys'] })
    } catch (failure) {
      setError(failure)
      setState('asking')
    }
  }
  return (
    <li className={classes.row}>
      <div>
        {name === null ? null : <span className={classes.name}>{name}</span>}
        <code className={classes.prefix}>{display_prefix}…</code>
        <span className={classes.quiet}>
          {env}, {role}, last used: <RelativeTime at={last_used_at} never="never" />
        </span>
      </div>
      <Group gap={4} wrap="nowrap" role="status">
        {state === 'revoked' ? <Badge variant="default">Revoked</Badge> : null}
        {state === 'living' ? (
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Revoke ${shown}`}
            onClick={() => setState('asking')}
          >
            Revoke
          </Button>
        ) : null}
        {state === 'asking' || state === 'busy' ? (
          <>
            <Button variant="default" size="compact-sm" onClick={() => setState('living')}>
              Keep
            </Button>
            <Button
              color="red"
              size="compact-sm"
              loading={state === 'busy'}
              aria-label={`Revoke for good: ${shown}`}
              onClick={() => void revoke()}
            >
              Revoke for good
            </Button>
          </>
        ) : null}
      </Group>
      {error === null ? null : (
        <div className={classes.trouble}>
          <Trouble error={error} />
        </div>
      )}
    </li>
  )
}
