import type { AuditLog } from '@keyrail/contract/vendor/audit'
import { Button, Group } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { Facts } from '../../components/facts.tsx'
import { exactTime } from '../../components/time.ts'
import { Actor } from './actor.tsx'
import { type Difference, type DifferenceLine, differencesOf } from './differences.ts'
import { auditRoute } from './routes.ts'
import classes from './row-detail.module.css'

/** What an open row shows: its payload as a difference, and its place in the chain. */
export function RowDetail({ row }: { row: AuditLog }) {
  const navigate = useNavigate({ from: auditRoute.fullPath })
  const narrow = (filter: { actor_id: string } | { target_id: string }) =>
    void navigate({ search: now => ({ ...now, ...filter }) })
  const { actor_id, target_id } = row
  const place = placeOf(row)
  return (
    <div className={classes.detail}>
      <Payload row={row} />
      <Facts
        facts={[
          { label: 'Position', value: row.seq },
          { label: 'Time', value: exactTime(row.created_at) },
          { label: 'Actor', value: <Actor row={row} /> },
          ...(row.ip === undefined ? [] : [{ label: 'IP address', copied: row.ip }]),
          ...(actor_id === null ? [] : [{ label: 'Actor id', copied: actor_id }]),
          { label: 'Target id', copied: target_id },
          { label: 'Hash', copied: row.hash },
          { label: 'Hash before', copied: row.prev_hash },
        ]}
      />
      <Group gap="xs">
        {place === null ? null : (
          <Button
            variant="default"
            size="compact-sm"
            renderRoot={props => (
              <Link {...props} to={place.to} search={{ env: row.env === 'test' ? 'test' : undefined }} />
            )}
          >
            Open the {place.noun}
          </Button>
        )}
        {actor_id === null ? null : (
          <Button variant="default" size="compact-sm" onClick={() => narrow({ actor_id })}>
            Only this actor
          </Button>
        )}
        <Button variant="default" size="compact-sm" onClick={() => narrow({ target_id })}>
          Only this target
        </Button>
      </Group>
    </div>
  )
}

const places: Partial<Record<AuditLog['target_type'], readonly [noun: string, path: string]>> = {
  api_key: ['key', '/keys'],
  tenant: ['tenant', '/tenants'],
  project: ['project', '/projects'],
}

/** The page of what the row changed; null when it has none. */
function placeOf({ action, target_type, target_id }: AuditLog) {
  const [noun, path] = places[target_type] ?? []
  if (noun === undefined || action.endsWith('.deleted')) return null
  return { noun, to: `${path}/${target_id}` as string }
}

function Payload({ row }: { row: AuditLog }) {
  if (row.payload === null) return <p className={classes.none}>You may not see what changed here.</p>
  const differences = differencesOf(row)
  if (differences.length === 0) return <p className={classes.none}>This row records no fields.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a long difference.
    <section className={classes.payload} aria-label={`What changed in row ${row.seq}`} tabIndex={0}>
      {differences.map(difference => (
        <Field key={difference.field} {...difference} />
      ))}
    </section>
  )
}

const Field = ({ field, lines }: Difference) => (
  <div className={classes.field}>
    <span className={classes.name}>{field}</span>
    <div>
      {lines.map(({ sign, text }, at) => {
        const Side = tags[sign]
        // Lines never move, so their place names them.
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: see above.
          <Side key={at} className={classes[sideNames[sign]]}>
            {text}
          </Side>
        )
      })}
    </div>
  </div>
)

const tags = { '+': 'ins', '-': 'del', ' ': 'span' } as const satisfies Record<DifferenceLine['sign'], string>
const sideNames = { '+': 'added', '-': 'removed', ' ': 'kept' } as const
