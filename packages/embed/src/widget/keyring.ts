import { changed } from '../client/calls.ts'
import type { EmbedClient } from '../client/embed-client.ts'
import { EmbedError, isEmbedError } from '../client/embed-error.ts'
import { awaited, type TokenChange } from '../client/tokens.ts'
import type { EmbedKey, EmbedKeyUpdate, EmbedSession } from '../types.ts'
import type { Emit } from './events.ts'
import { createUsage, type UsageFigures } from './usage.ts'

/** What the widget shows, apart from its dialogs. */
export interface Shown {
  readonly session: EmbedSession | null
  readonly keys: readonly EmbedKey[] | null
  readonly hasMore: boolean
  /** Why the newest load failed. */
  readonly trouble: EmbedError | null
  readonly isLoading: boolean
  /** Grows when another tenant's token comes: whatever belongs to the tenant before is gone. */
  readonly tenants: number
}

export interface NewSecret {
  readonly key: string
  /** For the old key of a rotation. */
  readonly oldEndsAt?: string | null
}

/** The keys of a token's tenant: loads them, changes them, and forgets them with the tenant. */
export interface Keyring {
  readonly usage: UsageFigures
  shown(): Shown
  subscribe(onChange: () => void): () => void
  /** The service's time, in milliseconds since 1970. */
  now(): number
  load(): Promise<void>
  /** Loads a list that is older than a minute, in a tab that is seen. */
  wake(): void
  /** @throws {EmbedError} as all that change something. */
  create(settings: { name?: string; scopes: string[] }): Promise<NewSecret>
  update(key: EmbedKey, settings: EmbedKeyUpdate): Promise<void>
  rotate(key: EmbedKey, overlapHours: number): Promise<NewSecret>
  pause(key: EmbedKey): Promise<void>
  resume(key: EmbedKey): Promise<void>
  revoke(key: EmbedKey): Promise<void>
  /** Sets from where all those keys work that have no networks of their own. */
  restrict(networks: string[]): Promise<void>
  onTokenChange(change: TokenChange): void
  /** The page gives tokens by another function. */
  onNewSource(): void
}

const listMax = 100
/** A change with this refusal was offered by a list or a session that is no longer true. */
const outdated: readonly EmbedError['code'][] = ['key_not_active', 'not_found', 'insufficient_scope']
const oldMs = 60_000

const nothing = { session: null, keys: null, hasMore: false, trouble: null, isLoading: true }

export function createKeyring(client: EmbedClient, emit: Emit): Keyring {
  return new TenantKeyring(client, emit)
}

class TenantKeyring implements Keyring {
  readonly usage: UsageFigures
  readonly #client: EmbedClient
  readonly #emit: Emit
  readonly #listeners = new Set<() => void>()
  #shown: Shown = { ...nothing, tenants: 0 }
  /** Grows with each load. The answer of an earlier load is dropped. */
  #newest = 0
  #loadedAt = 0
  /** Whether another function of the page has been tried since the keys were last loaded. */
  #hasTried = false
  /** The last message in the console. */
  #advised: string | null = null

  constructor(client: EmbedClient, emit: Emit) {
    this.#client = client
    this.#emit = emit
    this.usage = createUsage(client, () => this.#redraw())
  }

  shown(): Shown {
    return this.#shown
  }

  subscribe(onChange: () => void): () => void {
    this.#listeners.add(onChange)
    return () => this.#listeners.delete(onChange)
  }

  now(): number {
    // A client that a test of the page has made may have no clock.
    return this.#client.now?.() ?? Date.now()
  }

  load(): Promise<void> {
    return this.#load(false)
  }

  // Functions, not methods: both are passed alone, as listeners.
  readonly wake = (): void => {
    const { trouble, isLoading } = this.#shown
    const isShown = !document.hidden && trouble === null && !isLoading
    if (isShown && this.now() - this.#loadedAt > oldMs) void this.load()
  }

  readonly onTokenChange = (change: TokenChange): void => {
    if (change === 'late') {
      // A form waits for its answer.
      if (this.#shown.isLoading) this.#show({ trouble: this.#report(awaited()), isLoading: false })
      return
    }
    if (change === 'tenant') this.#forget()
    // After the call that got the token, which fails or answers for the tenant before.
    queueMicrotask(() => void this.load())
  }

  onNewSource(): void {
    // A page that draws again gives another function each time: a session that has ended is tried once.
    const code = this.#shown.trouble?.code ?? ''
    if (this.#hasTried || !['session_ended', 'misconfigured'].includes(code)) return
    this.#hasTried = true
    void this.load()
  }

  async create(settings: { name?: string; scopes: string[] }): Promise<NewSecret> {
    const made = await this.#change(() => this.#client.create(settings))
    this.#emit('created', { id: made.id, name: made.name, display_prefix: made.display_prefix })
    void this.load()
    return { key: made.key }
  }

  async update({ id }: EmbedKey, settings: EmbedKeyUpdate): Promise<void> {
    const { name, expires_at } = await this.#replace(() => this.#client.update(id, settings))
    this.#emit('updated', { id, name, expires_at })
    void this.load()
  }

  async pause({ id }: EmbedKey): Promise<void> {
    await this.#replace(() => this.#client.disable(id))
    this.#emit('paused', { id })
    void this.load()
  }

  async resume({ id }: EmbedKey): Promise<void> {
    await this.#replace(() => this.#client.enable(id))
    this.#emit('resumed', { id })
    void this.load()
  }

  async rotate({ id }: EmbedKey, overlapHours: number): Promise<NewSecret> {
    const made = await this.#change(() => this.#client.rotate(id, { overlap_hours: overlapHours }))
    this.#emit('rotated', { id: made.id, rotated_from: id, display_prefix: made.display_prefix })
    void this.load()
    return { key: made.key, oldEndsAt: made.predecessor.expires_at }
  }

  async revoke({ id }: EmbedKey): Promise<void> {
    await this.#change(() => this.#client.revoke(id))
    this.#show({ keys: this.#shown.keys?.filter(key => key.id !== id) ?? null })
    this.#emit('revoked', { id })
    void this.load()
  }

  async restrict(networks: string[]): Promise<void> {
    const { allowed_cidrs } = await this.#change(() => this.#client.updateTenant({ allowed_cidrs: networks }))
    const { session } = this.#shown
    if (session !== null)
      this.#show({ session: { ...session, tenant: { ...session.tenant, allowed_cidrs } } })
    this.#emit('restricted', { allowed_cidrs })
    void this.load()
  }

  async #load(isRepeat: boolean): Promise<void> {
    this.#newest += 1
    const own = this.#newest
    this.#show({ isLoading: true })
    try {
      const session = await this.#client.session()
      const page = session.can.read ? await this.#client.list({ limit: listMax }) : null
      if (own !== this.#newest) return
      this.#hasTried = false
      this.#loadedAt = this.now()
      this.usage.renew()
      this.#show({
        session,
        keys: page?.data ?? null,
        hasMore: page?.has_more ?? false,
        trouble: null,
        isLoading: false,
      })
    } catch (error) {
      if (own !== this.#newest) return
      const trouble = this.#report(error)
      if (trouble.code === 'tenant_changed') {
        // A client without `onTokenChange` tells of the change only by this error.
        this.#forget()
        if (!isRepeat) return await this.#load(true)
      }
      this.#show({ trouble, isLoading: false })
    }
  }

  /** Shows the key as the call has changed it. */
  async #replace(call: () => Promise<EmbedKey>): Promise<EmbedKey> {
    const changed = await this.#change(call)
    this.#show({ keys: this.#shown.keys?.map(key => (key.id === changed.id ? changed : key)) ?? null })
    return changed
  }

  /** @throws what the call throws, after it is reported, and after one load where it shows that the list is outdated. */
  async #change<T>(call: () => Promise<T>): Promise<T> {
    const { tenants } = this.#shown
    try {
      const answer = await call()
      if (tenants === this.#shown.tenants) return answer
    } catch (error) {
      const trouble = this.#report(error)
      if (trouble.code === 'tenant_changed' && tenants === this.#shown.tenants) this.onTokenChange('tenant')
      // First what is true now: then it is also said why the change was refused.
      if (outdated.includes(trouble.code)) await this.load()
      throw trouble
    }
    throw changed()
  }

  /** Forgets the tenant before. A load that is under way is for this tenant. */
  #forget(): void {
    this.#newest += 1
    this.usage.clear()
    this.#show({ ...nothing, tenants: this.#shown.tenants + 1 })
  }

  #show(next: Partial<Shown>): void {
    this.#shown = { ...this.#shown, ...next }
    this.#redraw()
  }

  #redraw(): void {
    for (const listener of this.#listeners) listener()
  }

  /** No event if the reason is the page itself: it has moved on to another tenant, or has closed the client. */
  #report(error: unknown): EmbedError {
    const trouble = isEmbedError(error)
      ? error
      : new EmbedError('unreachable', String(error), { cause: error })
    const { code, message, requestId } = trouble
    if (code === 'tenant_changed' || code === 'closed') return trouble
    this.#emit('error', { code, message, request_id: requestId })
    if (code === 'session_ended') this.#emit('session-ended', {})
    // The person who reads the page cannot fix it; the developer who opens the console can.
    const isForDeveloper = ['misconfigured', 'origin_not_allowed', 'token_awaited'].includes(code)
    if (isForDeveloper && message !== this.#advised) {
      this.#advised = message
      console.error(`<keyrail-keys>: ${message}`)
    }
    return trouble
  }
}
