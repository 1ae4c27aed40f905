import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Flood, FloodTarget } from './floods.ts'
import type { AttackMessage, AttackReply } from './neighbour-attacker.ts'
import type { AttackName, Tally, Target } from './neighbour-attacks.ts'

/** The attacker, in its own process, which ends with ours. */
export class AttackerProcess {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('neighbour-attacker.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {},
  })

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async start(name: AttackName, target: Target): Promise<void> {
    await this.#tell({ type: 'start', name, target })
  }

  async startFloods(floods: readonly Flood[], target: FloodTarget): Promise<void> {
    await this.#tell({ type: 'flood', floods, target })
  }

  async stop(): Promise<Tally> {
    const reply = await this.#tell({ type: 'stop' })
    return reply.type === 'stopped' ? reply.tally : {}
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }

  /** @throws when the process ends before it has replied. */
  async #tell(message: AttackMessage): Promise<AttackReply> {
    const { promise, resolve, reject } = Promise.withResolvers<AttackReply>()
    const onExit = () => reject(new Error('the attacker’s process has ended'))
    this.#child.once('message', resolve as (reply: unknown) => void).once('exit', onExit)
    this.#child.send(message)
    return await promise.finally(() => this.#child.off('exit', onExit))
  }
}
