import type { AuditLog } from '@keyrail/contract/vendor/audit'
import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Clip } from '../../components/clip.tsx'
import { actorOf } from './words.ts'

/** Who acted, by name, with a link to its page where it has one. */
export function Actor({ row }: { row: AuditLog }) {
  const { actor_id, actor_secret_key, actor_tenant } = row
  const name = <Clip text={actorOf(row)} isNarrow />
  if (actor_secret_key !== undefined && actor_id !== null)
    return (
      <Anchor
        inherit
        renderRoot={props => (
          <Link {...props} to="/settings/secret-keys/$secretKeyId" params={{ secretKeyId: actor_id }} />
        )}
      >
        {name}
      </Anchor>
    )
  if (actor_tenant !== undefined)
    return (
      <Anchor
        inherit
        renderRoot={props => (
          <Link {...props} to="/tenants/$tenantId" params={{ tenantId: actor_tenant.id }} />
        )}
      >
        {name}
      </Anchor>
    )
  return name
}
