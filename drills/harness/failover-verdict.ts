import { until } from '../../packages/server/test/until.ts'
import type { Changes } from './failover-changes.ts'
import { askPatiently, type FailoverStage } from './failover-stage.ts'

/** The keys of the new primary, and whether each may be used. */
export async function readTruth({ pair }: FailoverStage): Promise<Map<string, boolean>> {
  const rows = await pair.on('standby', 'select id, revoked_at is null as is_active from api_keys')
  return new Map(rows.map(row => [row.id, row.is_active]))
}

/** Waits until each node has polled the new primary, and judges every key that was ever issued. @returns how many verdicts. */
export async function judgeNodes(
  stage: FailoverStage,
  { issued }: Changes,
  broken: string[],
): Promise<number> {
  const { live, projectId } = stage.scene
  const [ask] = stage.asks
  if (ask === undefined) throw new Error('no process runs')
  const { body } = await askPatiently(ask, 'GET', `/v1/projects/${projectId}`, { token: live })
  const newest: number = body.policy_version
  const truth = await readTruth(stage)
  let verdicts = 0
  for (const { name, keyring } of stage.nodes) {
    await until(() => (keyring.stats().version ?? 0) >= newest, `${name} has polled the new primary`)
    for (const { id, key } of issued.values()) {
      verdicts += 1
      const { valid } = keyring.verify(key)
      const due = truth.get(id) === true
      if (valid !== due) {
        const state = truth.has(id) ? (due ? 'active' : 'revoked') : 'unknown to the database'
        broken.push(`${name} ${valid ? 'accepts' : 'refuses'} a key that is ${state}`)
      }
    }
  }
  return verdicts
}

/** Whatever was given out after the failover is newer than everything before it. */
export function judgeVersions(
  { nodes }: FailoverStage,
  { versions }: Changes,
  { killedAt, promotedAt }: { killedAt: number; promotedAt: number },
  broken: string[],
): void {
  const all = [...nodes, { name: 'a revocation', given: versions }]
  const old = all.flatMap(({ given }) => given).filter(({ answeredAt }) => answeredAt < killedAt)
  const newestOld = Math.max(...old.map(({ version }) => version))
  for (const { name, given } of all)
    for (const { sentAt, version } of given)
      if (sentAt > promotedAt && version <= newestOld)
        broken.push(`${name} was given version ${version} again`)
}

/** The chain of the audit log verifies through each process. */
export async function judgeChain({ asks, scene }: FailoverStage, broken: string[]): Promise<void> {
  for (const ask of asks) {
    const { body } = await askPatiently(ask, 'GET', '/v1/audit_logs/chain', { token: scene.live })
    if (body.valid !== true) broken.push(`the audit chain does not verify: ${JSON.stringify(body)}`)
  }
}
