import type { KeyrailError } from '../../packages/sdk/src/runtime/errors.ts'
import type { Seeded } from '../../packages/server/test/seeded.ts'
import type { FeedHouse } from './feed-house.ts'
import type { FeedWorld } from './feed-mutations.ts'
import { FeedNode } from './feed-node.ts'
import { differences, readTruth, sentKeys, type Truth } from './feed-truth.ts'
import { NewerService, withoutNewerRule } from './newer-service.ts'

const whole = { env: 'both', tenantIds: [] } as const

/** This client against a service of a later release, poll after poll. */
export class NewerMeeting {
  readonly #house: FeedHouse
  readonly #world: FeedWorld
  readonly #random: Seeded
  readonly #count: (name: string) => void
  readonly #service: NewerService
  readonly #node: FeedNode
  #reports: KeyrailError[] = []

  constructor(world: FeedWorld, name: string, count: (name: string) => void) {
    this.#house = world.house
    this.#world = world
    this.#random = world.random
    this.#count = count
    this.#service = new NewerService(world.random, count)
    this.#node = new FeedNode(world.house, {
      name,
      projectId: world.projects[0] ?? '',
      token: world.house.scene.live,
      ...whole,
      hasLabels: true,
      onAnswer: this.#service.change,
      onOdd: error => this.#reports.push(error),
    })
  }

  /** One poll, and often the same keys in known words after it. @returns what contradicts the promise. */
  async poll(truth: Truth): Promise<string[]> {
    const broken = await this.#poll(truth)
    if (broken.length > 0 || this.#random.integer(3) > 0) return broken
    return await this.sayAgain(truth)
  }

  /** The service sends in known words what could not be read. */
  async sayAgain(truth: Truth): Promise<string[]> {
    const usable = sentKeys(truth, whole, this.#house.now())
    const again = [...this.#service.unread].filter(id => usable.has(id))
    for (const id of again) {
      const scopes = [`again-${this.#random.integer(1_000_000)}`]
      await this.#house.ask('PATCH', `/v1/keys/${id}`, { token: this.#house.scene.live, body: { scopes } })
    }
    this.#service.isKnown = true
    const now = await readTruth(this.#house.client, this.#node.options.projectId)
    const broken = await this.#poll(now)
    this.#service.isKnown = false
    for (const id of again) {
      if (this.#service.unread.has(id)) broken.push(`key ${id} was not sent again`)
      else this.#count('new client, newer service: a refused key works again')
    }
    return broken
  }

  async #poll(truth: Truth): Promise<string[]> {
    this.#reports = []
    const { error } = await this.#node.poll({ pageSize: this.#random.pick([3, 100]) })
    if (error !== undefined) return [`it failed: ${error.message}`]
    const unread = this.#service.taken()
    const broken = [...this.#heldWrong(truth), ...this.#reportedWrong(unread)]
    const { unread: unreadKeys, endedOddly } = this.#service
    const anyReason = new Set([...unreadKeys, ...endedOddly])
    broken.push(...this.#node.misjudges(truth, this.#world.issued, anyReason))
    if (broken.length === 0) this.#count('new client, newer service: right')
    return broken
  }

  /** A key that could not be read is missing; every other one is there, whole, with the rules that it was sent with. */
  #heldWrong(truth: Truth): string[] {
    const { unread, ruled } = this.#service
    const due = new Map([...sentKeys(truth, whole, this.#house.now())].filter(([id]) => !unread.has(id)))
    const held = new Map<string, string>()
    const wrong: string[] = []
    for (const [id, stored] of this.#node.held(truth)) {
      const { line, hasRule } = withoutNewerRule(stored)
      held.set(id, line)
      if (hasRule !== ruled.has(id))
        wrong.push(`key ${id} ${hasRule ? 'has' : 'lacks'} the unknown algorithm`)
    }
    return [...wrong, ...differences(due, held)]
  }

  /** Once for all that a poll could not read, and nothing else. */
  #reportedWrong(unread: number): string[] {
    const codes = this.#reports.map(({ code }) => code).join()
    if (codes !== (unread > 0 ? 'unreadable_key' : ''))
      return [`it reported '${codes}' of ${unread} unreadable keys`]
    if (unread > 0) this.#count('new client, newer service: refused and reported once')
    const [report] = this.#reports
    const names = unread === 1 ? 'The API key ' : `${unread} API keys `
    return report === undefined || report.message.startsWith(names) ? [] : [`it reported: ${report.message}`]
  }
}
