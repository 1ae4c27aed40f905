import { setPriority } from 'node:os'
import { type AttackName, startAttack, type Tally, type Target } from './neighbour-attacks.ts'

/** An attacker in a process of its own, told what to do by its parent. */
export type AttackMessage = { type: 'start'; name: AttackName; target: Target } | { type: 'stop' }
export type AttackReply = { type: 'started' } | { type: 'stopped'; tally: Tally }

// Attackers have machines of their own; here theirs must not take the time of the service's.
setPriority(19)

let attack: ReturnType<typeof startAttack> | null = null

process.on('message', async (message: AttackMessage) => {
  if (message.type === 'start') {
    attack = startAttack(message.name, message.target)
    process.send?.({ type: 'started' } satisfies AttackReply)
    return
  }
  await attack?.stop()
  process.send?.({ type: 'stopped', tally: attack?.tally ?? {} } satisfies AttackReply)
  attack = null
})

process.on('disconnect', () => process.exit())
