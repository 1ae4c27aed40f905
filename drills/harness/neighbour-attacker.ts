import { setPriority } from 'node:os'
import { type Flood, type FloodTarget, startFloods } from './floods.ts'
import { type AttackName, startAttack, type Tally, type Target } from './neighbour-attacks.ts'

/** An attacker in its own process, which receives its commands from the parent. */
export type AttackMessage =
  | { type: 'start'; name: AttackName; target: Target }
  | { type: 'flood'; floods: readonly Flood[]; target: FloodTarget }
  | { type: 'stop' }
export type AttackReply = { type: 'started' } | { type: 'stopped'; tally: Tally }

// Real attackers use other machines; here theirs must not take CPU time from the service.
setPriority(19)

let attack: ReturnType<typeof startAttack> | null = null

process.on('message', async (message: AttackMessage) => {
  if (message.type !== 'stop') {
    attack =
      message.type === 'flood'
        ? startFloods(message.floods, message.target)
        : startAttack(message.name, message.target)
    process.send?.({ type: 'started' } satisfies AttackReply)
    return
  }
  await attack?.stop()
  process.send?.({ type: 'stopped', tally: attack?.tally ?? {} } satisfies AttackReply)
  attack = null
})

process.on('disconnect', () => process.exit())
