import type { ChainScene } from './chain-scene.ts'
import type { Forgery } from './forgeries.ts'

/** Changes to the addresses that are stored beside the chain: a forged one is detected, an erased one is valid. */
export async function sideRowForgeries({ client, workspaceId, length }: ChainScene): Promise<Forgery[]> {
  const { rows } = await client.query<{ seq: number; path: string }>(
    'select seq, path from audit_addresses where workspace_id = $1 order by seq, path',
    [workspaceId],
  )
  const withSide = new Set(rows.map(({ seq }) => seq))
  const without = Array.from({ length }, (_, i) => i + 1).filter(seq => !withSide.has(seq))
  const forgeries = rows.flatMap(({ seq, path }) => {
    const change = (name: string, set: string, firstBad = seq): Forgery => ({
      kind: 'address forged',
      name: `row ${seq} ${path}: ${name}`,
      firstBad,
      forge: () =>
        client.query(`update audit_addresses set ${set} where workspace_id = $1 and seq = $2 and path = $3`, [
          workspaceId,
          seq,
          path,
        ]),
    })
    const erase: Forgery = {
      kind: 'address erased',
      name: `row ${seq} ${path}`,
      firstBad: null,
      forge: () =>
        client.query('delete from audit_addresses where workspace_id = $1 and seq = $2 and path = $3', [
          workspaceId,
          seq,
          path,
        ]),
    }
    const elsewhere = without[0] ?? 1
    return [
      change('another address', `address = 'x' || address`),
      change('another salt', 'salt = set_byte(salt, 3, get_byte(salt, 3) # 1)'),
      change('another path', `path = path || '.name'`),
      change(`moved to row ${elsewhere}`, `seq = ${elsewhere}`, elsewhere),
      erase,
    ]
  })
  const added = without.map(
    (seq): Forgery => ({
      kind: 'address added',
      name: `to row ${seq}`,
      firstBad: seq,
      forge: () =>
        client.query(
          `insert into audit_addresses (workspace_id, seq, path, address, salt)
           values ($1, $2, 'billing_email', 'forged@example.com', sha256('x')::bytea)`,
          [workspaceId, seq],
        ),
    }),
  )
  const eraseAll: Forgery = {
    kind: 'address erased',
    name: 'all',
    firstBad: null,
    forge: () => client.query('delete from audit_addresses where workspace_id = $1', [workspaceId]),
  }
  return [...forgeries, ...added, eraseAll]
}
