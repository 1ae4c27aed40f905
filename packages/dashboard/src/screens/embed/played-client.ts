import type { EmbedKey, EmbedSession } from '@keyrail/contract/embed'
import type { EmbedTheme, Env } from '@keyrail/contract/shared'
import type { EmbedClient } from '../../../../embed/src/client/embed-client.ts'
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
export function createPlayedClient({ state, rights, env, theme }: Played): EmbedClient {
  const make = createKeyMaker(env)
  let keys =
    state.keys === 'none'
      ? []
      : state.keys === 'many'
        ? Array.from({ length: manyKeys }, (_, at) => make({ name: `Device ${manyKeys - at}` }, at))
        : someKeys(make)
  const most = state.keys === 'most' ? keys.length : Number.POSITIVE_INFINITY
  const isChange = state.fails?.of === 'create' || state.fails?.of === 'rotate'
  let failuresLeft = isChange ? 1 : Number.POSITIVE_INFINITY
  let hasListed = false

  function refuse(code: EmbedError['code'], facts?: PlayedFailure['facts']): never {
    throw new EmbedError(code, 'The playground plays this.', facts)
  }
  function play(call: PlayedFailure['of']): void {
    if (state.fails?.of !== call || failuresLeft === 0) return
    failuresLeft -= 1
    refuse(state.fails.code, state.fails.facts)
  }
  const find = (id: string) => keys.find(key => key.id === id) ?? refuse('not_found', { status: 404 })
  const withSecret = (key: EmbedKey) => ({ ...key, key: `${key.display_prefix}_opens_nothing` })

  return {
    async session(): Promise<EmbedSession> {
      if (state.isLoading) return await new Promise(() => {})
      play('session')
      if (hasListed) play('later list')
      const key_scopes = rights.write ? playedScopes : []
      return {
        object: 'embed_session',
        tenant: { id: 'demo', external_id: 'org_17', name: 'Globex' },
        project: { id: 'demo', name: 'Orders' },
        env,
        scopes: [
          ...(rights.read ? ['keys:read'] : []),
          ...(rights.write ? ['keys:write'] : []),
          ...key_scopes.map(one => `key_scope:${one}`),
        ],
        can: { ...rights, update: rights.write, key_scopes },
        known_scopes: state.knowsScopes ? key_scopes.slice(0, 1) : null,
        theme,
        expires_at: inHours(1 / 12),
      }
    },
    async list({ limit = 50 } = {}) {
      hasListed = true
      const data = keys.slice(0, Math.min(limit, pageMax))
      const has_more = keys.length > data.length
      return { object: 'list', data, has_more, next_cursor: has_more ? 'demo' : null }
    },
    async create(wanted = {}) {
      play('create')
      if (keys.length >= most) refuse('key_limit_reached', { status: 409 })
      const key = make(wanted)
      keys = [key, ...keys]
      return withSecret(key)
    },
    async update(id, changes) {
      const key = { ...find(id), ...changes, updated_at: inHours(0) }
      keys = keys.map(one => (one.id === id ? key : one))
      return key
    },
    async rotate(id, { overlap_hours = 24 } = {}) {
      play('rotate')
      const { name, scopes } = find(id)
      const key = make({ name: name ?? undefined, scopes }, 0, { rotated_from: id })
      const expires_at = inHours(overlap_hours)
      const rest = keys.map(one => (one.id === id ? { ...one, expires_at, rotated_to: key.id } : one))
      keys = [key, ...rest]
      return { ...withSecret(key), predecessor: { id, expires_at } }
    },
    async revoke(id) {
      const key = { ...find(id), revoked_at: inHours(0) }
      keys = keys.filter(one => one.id !== id)
      return key
    },
    async usage(id, { days = 30 } = {}) {
      play('usage')
      const data = usageOf(find(id), days)
      const total = data.reduce((sum, one) => sum + one.request_count, 0)
      return { object: 'key_usage', key_id: id, days, total, estimated: false, data }
    },
    renewToken() {},
    takeTokensFrom() {},
    onTokenChange: () => () => {},
    now: () => Date.now(),
    close() {},
  }
}
