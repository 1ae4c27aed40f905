import type pg from 'pg'
import { type IdleSlot, type OutsideFacts, readIdleSlots } from '../../platform/db/roles/outside-facts.ts'
import type { Check } from './check.ts'

/** Values of synchronous_commit with which a commit waits for no standby, or not until it is on its disk. */
const waitsTooLittle = ['local', 'remote_write']

/** How many standbys must confirm a commit: the number in `ANY 2 (a, b, c)`, or else one. */
const confirmationsOf = (standbyNames: string): number =>
  Number(/^\s*(?:ANY|FIRST)?\s*(\d+)\s*\(/i.exec(standbyNames)?.[1] ?? 1)

/** A standby that lacks commits gives up what was confirmed when it is promoted. */
export function judgeStandbys(facts: OutsideFacts): Check[] {
  const { isStandby, synchronousCommit, standbyNames, receivers } = facts
  if (isStandby || (standbyNames === '' && receivers === 0)) return []
  const name = 'standbys'
  const lost = 'a failover loses changes that were confirmed, such as a revocation'
  if (standbyNames === '')
    return [
      {
        name,
        status: 'warning',
        message: `${receivers} receive the log, and no commit waits for them: ${lost}`,
        todo: 'Set synchronous_standby_names if one of them may be promoted.',
      },
    ]
  if (waitsTooLittle.includes(synchronousCommit))
    return [
      {
        name,
        status: 'warning',
        message: `synchronous_commit is ${synchronousCommit}, which is not enough: ${lost}`,
        todo: 'Set synchronous_commit = on in Postgres, for this role and database too.',
      },
    ]
  // With synchronous_commit off a commit waits for nothing, and the durability is a fault already.
  if (synchronousCommit !== 'off') {
    const away = judgeAway(facts)
    if (away !== null) return [away]
  }
  return [{ name, status: 'ok', message: `commits wait for ${standbyNames}` }]
}

/** A login that may not see which standbys confirm counts all that receive the log. */
function judgeAway({ standbyNames, receivers, confirming }: OutsideFacts): Check | null {
  const need = confirmationsOf(standbyNames)
  const there = confirming ?? receivers
  if (there >= need) return null
  return {
    name: 'standbys',
    status: 'fault',
    message: `commits wait for ${standbyNames}, and ${there} of ${need} that must confirm is there: every change gets 503`,
    todo: 'Bring the standby back, or take it out of synchronous_standby_names: docs/runbooks/standby-lost.md.',
  }
}

/** Past max_wal_size, the log that Postgres keeps for a slot fills the disk. */
const fillsDisk = ['extended', 'unreserved']

/** Slots that nothing reads, such as that of a standby that was removed. Only called on a primary. */
export async function checkSlots(client: pg.ClientBase): Promise<Check[]> {
  const slots = await readIdleSlots(client)
  return slots.map(judgeSlot)
}

function judgeSlot({ name: slot, state, heldBytes }: IdleSlot): Check {
  const drop = `pg_drop_replication_slot('${slot.replaceAll("'", "''")}')`
  const name = 'slots'
  if (state === 'lost')
    return {
      name,
      status: 'warning',
      message: `${slot} has lost the log that it was to keep: what used it can no longer follow`,
      todo: `Build that standby again, and drop the slot: select ${drop};`,
    }
  return {
    name,
    status: fillsDisk.includes(state) ? 'fault' : 'warning',
    message: `nothing reads ${slot}, for which Postgres keeps ${Math.ceil(heldBytes / 1_048_576)} MiB of its log (${state})`,
    todo: `Start what reads it, or drop it before the disk is full: select ${drop};`,
  }
}
