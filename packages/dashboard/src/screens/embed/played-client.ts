import type {
  CreatedEmbedKey,
  EmbedKey,
  EmbedKeyCreate,
  EmbedSession,
  EmbedTenant,
  EmbedTenantUpdate,
  RotatedEmbedKey,
} from '@keyrail/contract/embed'
import type { EmbedTheme, Env, RotateBody } from '@keyrail/contract/shared'
import type { KeyUsage } from '@keyrail/contract/vendor/usage'
import type { EmbedClient, EmbedKeyQuery } from '../../../../embed/src/client/embed-client.ts'
import { EmbedError } from '../../../../embed/src/client/embed-error.ts'
import { createKeyMaker, inHours, playedScopes, someKeys, usageOf } from './played-keys.ts'
import type { PlayedFailure, PlayedState } from './played-states.ts'

/** What a played token may do. */
export interface Rights {
  readonly read: boolean
  readonly write: boolean
}

interface Played {
  readonly state: PlayedState
  readonly rights: Rights
  readonly env: Env
  readonly theme: EmbedTheme
}

const pageMax = 100
const manyKeys = 140

/** Answers the widget as the service would, from memory. Its keys open nothing and are gone with the page. */
export const createPlayedClient = (played: Played): EmbedClient => new PlayedClient(played)

class PlayedClient implements EmbedClient {
  readonly #played: Played
  readonly #make: ReturnType<typeof createKeyMaker>
  #keys: readonly EmbedKey[]
  #networks: string[] = []
  readonly #keysMax: number
  #failuresLeft: number
  #hasListed = false

  constructor(played: Played) {
    const { keys, fails, elsewhere } = played.state
    this.#played = played
    this.#make = createKeyMaker(played.env)
    this.#keys = firstKeys(keys, this.#make)
    this.#keysMax = keys === 'most' ? this.#keys.length : Number.POSITIVE_INFINITY
    const isChange = fails?.of === 'create' || fails?.of === 'rotate'
    this.#failuresLeft = isChange && elsewhere === undefined ? 1 : Number.POSITIVE_INFINITY
  }

  async session(): Promise<EmbedSession> {
    const { state, rights, env, theme } = this.#played
    if (state.isLoading) return await new Promise(() => {})
    this.#failIfPlayed('session')
    if (this.#hasListed) this.#failIfPlayed('later list')
    const key_scopes = rights.write ? playedScopes : []
    return {
      object: 'embed_session',
      vendor: { name: 'Acme' },
      tenant: this.#tenant(),
      project: { id: 'demo', name: 'Orders' },
      env,
      scopes: [
        ...(rights.read ? ['keys:read'] : []),
        ...(rights.write ? ['keys:write', 'network:write'] : []),
        ...key_scopes.map(one => `key_scope:${one}`),
      ],
      can: {
        ...rights,
        update: rights.write,
        pause: rights.write,
        network: rights.write,
        tenant_network: rights.write && env === 'live',
        key_scopes,
      },
      known_scopes: state.knowsScopes ? key_scopes.slice(0, 1) : null,
      theme,
      expires_at: inHours(1 / 12),
    }
  }

  async list({ limit = 50 }: EmbedKeyQuery = {}): ReturnType<EmbedClient['list']> {
    this.#hasListed = true
    const data = this.#keys.slice(0, Math.min(limit, pageMax))
    const has_more = this.#keys.length > data.length
    return { object: 'list', data, has_more, next_cursor: has_more ? 'demo' : null }
  }

  async create(wanted: EmbedKeyCreate = {}): Promise<CreatedEmbedKey> {
    this.#failIfPlayed('create')
    if (this.#keys.length >= this.#keysMax) refuse('key_limit_reached', { status: 409 })
    const key = this.#make(wanted)
    this.#keys = [key, ...this.#keys]
    return withSecret(key)
  }

  async update(id: string, changes: Partial<EmbedKey>): Promise<EmbedKey> {
    const key = { ...this.#find(id), ...changes, updated_at: inHours(0) }
    this.#keys = this.#keys.map(one => (one.id === id ? key : one))
    return key
  }

  async rotate(id: string, { overlap_hours = 24 }: RotateBody = {}): Promise<RotatedEmbedKey> {
    const { elsewhere } = this.#played.state
    if (elsewhere === 'revoke') await this.revoke(id)
    if (elsewhere === 'pause') await this.update(id, { disabled_at: inHours(0), disabled_by: 'vendor' })
    this.#failIfPlayed('rotate')
    const { name, scopes } = this.#find(id)
    const key = this.#make({ name: name ?? undefined, scopes }, 0, { rotated_from: id })
    const expires_at = inHours(overlap_hours)
    const rest = this.#keys.map(one => (one.id === id ? { ...one, expires_at, rotated_to: key.id } : one))
    this.#keys = [key, ...rest]
    return { ...withSecret(key), predecessor: { id, expires_at } }
  }

  disable(id: string): Promise<EmbedKey> {
    return this.update(id, { disabled_at: inHours(0), disabled_by: 'tenant' })
  }

  async updateTenant({ allowed_cidrs }: EmbedTenantUpdate): Promise<EmbedTenant> {
    this.#networks = allowed_cidrs
    return { object: 'tenant', ...this.#tenant(), updated_at: inHours(0), created_at: inHours(-24) }
  }

  #tenant() {
    return { id: 'demo', external_id: 'org_17', name: 'Globex', allowed_cidrs: this.#networks }
  }

  enable(id: string): Promise<EmbedKey> {
    return this.update(id, { disabled_at: null, disabled_by: null })
  }

  async revoke(id: string): Promise<EmbedKey> {
    const key = { ...this.#find(id), revoked_at: inHours(0) }
    this.#keys = this.#keys.filter(one => one.id !== id)
    return key
  }

  async usage(id: string, { days = 30 }: { days?: number } = {}): Promise<KeyUsage> {
    this.#failIfPlayed('usage')
    const data = usageOf(this.#find(id), days)
    const total = data.reduce((sum, one) => sum + one.request_count, 0)
    return { object: 'key_usage', key_id: id, days, total, estimated: false, data }
  }

  renewToken(): void {}

  takeTokensFrom(): void {}

  onTokenChange(): () => void {
    return () => {}
  }

  now(): number {
    return Date.now()
  }

  close(): void {}

  #failIfPlayed(call: PlayedFailure['of']): void {
    const { fails } = this.#played.state
    if (fails?.of !== call || this.#failuresLeft === 0) return
    this.#failuresLeft -= 1
    refuse(fails.code, fails.facts)
  }

  #find(id: string): EmbedKey {
    return this.#keys.find(key => key.id === id) ?? refuse('not_found', { status: 404 })
  }
}

function firstKeys(keys: PlayedState['keys'], make: ReturnType<typeof createKeyMaker>): EmbedKey[] {
  if (keys === 'none') return []
  if (keys !== 'many') return someKeys(make)
  return Array.from({ length: manyKeys }, (_, at) => make({ name: `Device ${manyKeys - at}` }, at))
}

function refuse(code: EmbedError['code'], facts?: PlayedFailure['facts']): never {
  throw new EmbedError(code, 'The playground plays this.', facts)
}

const withSecret = (key: EmbedKey) => ({ ...key, key: `${key.display_prefix}_opens_nothing` })
