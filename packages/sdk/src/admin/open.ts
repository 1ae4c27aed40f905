import { createHttpCaller, createHttpSender } from '../http/call.ts'
import { type ConnectionOptions, readConnectionParts, refuseUnknown } from '../http/connection-options.ts'
import { readInteger } from '../http/option-values.ts'
import { refuseBrowser } from '../runtime/refuse-browser.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import { exportRows } from './export.ts'
import { type Listing, listOf } from './list.ts'
import { type AdminRequest, type CallOptions, createAdminRequest, type KeyedOptions } from './request.ts'
import { type RevokeBody, Room, type RotateBody } from './room.ts'
import type * as t from './types.ts'

export interface AdminOptions extends ConnectionOptions {
  /** How long one attempt may take, 30,000 ms unless given: a revocation that waits for the fleet takes up to 15 s. */
  timeoutMs?: number | undefined
  /** How often a call that failed is made again, where that does no harm; 2 unless given. */
  maxRetries?: number | undefined
}

const known: { readonly [Name in keyof Required<AdminOptions>]: true } = {
  baseUrl: true,
  secretKey: true,
  insecure: true,
  timeoutMs: true,
  maxRetries: true,
  fetch: true,
}
export const adminOptionNames = Object.keys(known)

/** Manages a workspace; made by `createAdmin`. Each method says which route of the service it calls. */
export interface Admin extends ReturnType<typeof openAdmin> {}

/**
 * Manages a workspace with its secret key. Every call rejects with a `KeyrailError` (`code`, `status`, `requestId`).
 *
 * @throws TypeError naming the option that is missing or wrong; Error in a browser
 */
export function createAdmin(options: AdminOptions = {}): Admin {
  return openAdmin(options, { timer: systemTimer, random: Math.random })
}

/** The same in a world of the caller's making. */
export function openAdmin(options: AdminOptions, world: { timer: Timer; random: () => number }) {
  refuseBrowser()
  refuseUnknown('createAdmin', options, known)
  const connection = readConnectionParts(options)
  const defaults = {
    ...world,
    timeoutMs: readInteger('timeoutMs', options.timeoutMs ?? 30_000, 1, 600_000),
    maxRetries: readInteger('maxRetries', options.maxRetries ?? 2, 0, 10),
  }
  const request = createAdminRequest({ call: createHttpCaller(connection), ...defaults })
  return {
    ...accountRooms(request),
    projects: projectRoom(request),
    tenants: tenantRoom(request),
    keys: keyRoom(request),
    secretKeys: secretKeyRoom(request),
    embedTokens: {
      /** `POST /v1/embed_tokens`. A token of five minutes for the browser of one tenant. */
      create: (body: t.EmbedTokenCreate, options?: CallOptions): Promise<t.EmbedToken> =>
        request<t.EmbedToken>({
          method: 'POST',
          path: '/v1/embed_tokens',
          body,
          status: 201,
          object: 'embed_token',
          repeat: 'safe',
          options,
        }),
    },
    auditLogs: {
      /** `GET /v1/audit_logs`. In rising order of `seq`. */
      list: (query?: t.AuditLogList, options?: CallOptions): Listing<t.AuditLog> =>
        listOf<t.AuditLog>(request, '/v1/audit_logs', query, options),
      /**
       * `GET /v1/audit_logs/export`.
       * The whole log, or all behind the row `after_seq`, in one stream that is read as fast as you take it. One that
       * breaks off is gone on with behind the last row. `timeoutMs` bounds the wait for more of it, not the whole.
       */
      export: (query?: t.AuditExport, options?: CallOptions): AsyncIterable<t.AuditLog> =>
        exportRows<t.AuditLog>(createHttpSender(connection), query, defaults, options),
      /** `GET /v1/audit_logs/chain` */
      chain: (options?: CallOptions): Promise<t.AuditChain> =>
        request<t.AuditChain>({
          method: 'GET',
          path: '/v1/audit_logs/chain',
          object: 'audit_chain',
          repeat: 'safe',
          options,
        }),
    },
    securityEvents: {
      /** `GET /v1/security_events`. Newest first; an owner's key alone. */
      list: (query?: t.SecurityEventList, options?: CallOptions): Listing<t.SecurityEvent> =>
        listOf<t.SecurityEvent>(request, '/v1/security_events', query, options),
    },
    usage: {
      /** `GET /v1/usage/billing` */
      billing: (query?: t.BillingUsageQuery, options?: CallOptions): Promise<t.BillingUsage> =>
        request<t.BillingUsage>({
          method: 'GET',
          path: '/v1/usage/billing',
          query,
          object: 'billing_usage',
          repeat: 'safe',
          options,
        }),
      /** `GET /v1/usage/tenants` */
      tenants: (query?: t.TenantUsageQuery, options?: CallOptions): Listing<t.TenantUsage> =>
        listOf<t.TenantUsage>(request, '/v1/usage/tenants', query, options),
    },
  }
}

function accountRooms(request: AdminRequest) {
  const workspace = { path: '/v1/workspace', object: 'workspace', repeat: 'safe' } as const
  const members = new Room(request, '/v1/members', 'member')
  const invites = new Room(request, '/v1/invites', 'invitation')
  return {
    workspace: {
      /** `GET /v1/workspace` */
      get: (options?: CallOptions): Promise<t.Workspace> =>
        request<t.Workspace>({ method: 'GET', ...workspace, options }),
      /** `PATCH /v1/workspace` */
      update: (body: t.WorkspaceUpdate, options?: CallOptions): Promise<t.Workspace> =>
        request<t.Workspace>({ method: 'PATCH', ...workspace, body, options }),
    },
    members: {
      /** `GET /v1/members` */
      list: (query?: t.MemberList, options?: CallOptions): Listing<t.Member> =>
        members.list<t.Member>(query, options),
      /** `PATCH /v1/members/:userId` */
      update: (userId: string, body: t.MemberUpdate, options?: CallOptions): Promise<t.ChangedMember> =>
        members.update<t.ChangedMember>(userId, body, options),
      /** `DELETE /v1/members/:userId`. `revoke_keys` revokes the keys made by this person too, all the way down. */
      remove: (
        userId: string,
        { revoke_keys }: { revoke_keys?: boolean } = {},
        options?: CallOptions,
      ): Promise<t.RemovedMember> => members.delete<t.RemovedMember>(userId, options, { revoke_keys }),
    },
    invites: {
      /** `POST /v1/invites` */
      create: (body: t.InviteCreate, options?: KeyedOptions): Promise<t.CreatedInvite> =>
        invites.create<t.CreatedInvite>(body, options),
      /** `GET /v1/invites` */
      list: (query?: t.InviteList, options?: CallOptions): Listing<t.Invite> =>
        invites.list<t.Invite>(query, options),
      /** `POST /v1/invites/:id/revoke` */
      revoke: (id: string, options?: CallOptions): Promise<t.Invite> =>
        invites.revoke<t.Invite>(id, {}, options),
    },
  }
}

function projectRoom(request: AdminRequest) {
  const room = new Room(request, '/v1/projects', 'project')
  return {
    /** `POST /v1/projects` */
    create: (body: t.ProjectCreate, options?: KeyedOptions): Promise<t.Project> =>
      room.create<t.Project>(body, options),
    /** `GET /v1/projects` */
    list: (query?: t.ProjectList, options?: CallOptions): Listing<t.Project> =>
      room.list<t.Project>(query, options),
    /** `GET /v1/projects/:id` */
    get: (id: string, options?: CallOptions): Promise<t.Project> => room.get<t.Project>(id, options),
    /** `PATCH /v1/projects/:id` */
    update: (id: string, body: t.ProjectUpdate, options?: CallOptions): Promise<t.Project> =>
      room.update<t.Project>(id, body, options),
    /** `DELETE /v1/projects/:id`. Revokes every key under it. */
    delete: (id: string, options?: CallOptions): Promise<t.DeletedProject> =>
      room.delete<t.DeletedProject>(id, options),
  }
}

function tenantRoom(request: AdminRequest) {
  const room = new Room(request, '/v1/tenants', 'tenant')
  return {
    /** `POST /v1/tenants` */
    create: (body: t.TenantCreate, options?: KeyedOptions): Promise<t.Tenant> =>
      room.create<t.Tenant>(body, options),
    /** `GET /v1/tenants` */
    list: (query?: t.TenantList, options?: CallOptions): Listing<t.Tenant> =>
      room.list<t.Tenant>(query, options),
    /** `GET /v1/tenants/:id` */
    get: (id: string, options?: CallOptions): Promise<t.Tenant> => room.get<t.Tenant>(id, options),
    /** `PATCH /v1/tenants/:id` */
    update: (id: string, body: t.TenantUpdate, options?: CallOptions): Promise<t.Tenant> =>
      room.update<t.Tenant>(id, body, options),
    /**
     * `POST /v1/tenants/:id/embed_tokens/revoke`. Every embed token of the tenant fails on its next request.
     */
    revokeEmbedTokens: async (id: string, options?: CallOptions): Promise<t.EmbedTokensRevoked> =>
      request<t.EmbedTokensRevoked>({
        method: 'POST',
        path: `${room.path(id)}/embed_tokens/revoke`,
        body: {},
        object: 'embed_tokens_revocation',
        repeat: 'safe',
        options,
      }),
    /** `DELETE /v1/tenants/:id`. Revokes every key that it holds. */
    delete: (id: string, options?: CallOptions): Promise<t.DeletedTenant> =>
      room.delete<t.DeletedTenant>(id, options),
  }
}

function keyRoom(request: AdminRequest) {
  const room = new Room(request, '/v1/keys', 'api_key')
  return {
    /** `POST /v1/keys`. `key` is there unless the answer was lost and asked for again: then rotate it. */
    create: (body: t.KeyCreate, options?: KeyedOptions): Promise<t.CreatedKey> =>
      room.create<t.CreatedKey>(body, options),
    /** `GET /v1/keys` */
    list: (query?: t.KeyList, options?: CallOptions): Listing<t.Key> => room.list<t.Key>(query, options),
    /** `GET /v1/keys/:id` */
    get: (id: string, options?: CallOptions): Promise<t.Key> => room.get<t.Key>(id, options),
    /** `PATCH /v1/keys/:id` */
    update: (id: string, body: t.KeyUpdate, options?: CallOptions): Promise<t.Key> =>
      room.update<t.Key>(id, body, options),
    /** `POST /v1/keys/:id/rotate` */
    rotate: (id: string, body?: RotateBody, options?: KeyedOptions): Promise<t.RotatedKey> =>
      room.rotate<t.RotatedKey>(id, body, options),
    /**
     * `POST /v1/keys/:id/revoke`. With `wait` it answers when the nodes have heard of it, and tells which have not.
     */
    revoke: (
      id: string,
      { wait, ...body }: RevokeBody & { wait?: boolean } = {},
      options?: CallOptions,
    ): Promise<t.RevokedKey> => room.revoke<t.RevokedKey>(id, body, options, { wait }),
    /** `GET /v1/keys/:id/usage` */
    usage: async (id: string, query?: t.KeyUsageQuery, options?: CallOptions): Promise<t.KeyUsage> =>
      request<t.KeyUsage>({
        method: 'GET',
        path: `${room.path(id)}/usage`,
        query,
        object: 'key_usage',
        repeat: 'safe',
        options,
      }),
  }
}

function secretKeyRoom(request: AdminRequest) {
  const room = new Room(request, '/v1/secret_keys', 'secret_key')
  return {
    /** `POST /v1/secret_keys` */
    create: (body: t.SecretKeyCreate, options?: KeyedOptions): Promise<t.CreatedSecretKey> =>
      room.create<t.CreatedSecretKey>(body, options),
    /** `GET /v1/secret_keys` */
    list: (query?: t.SecretKeyList, options?: CallOptions): Listing<t.SecretKey> =>
      room.list<t.SecretKey>(query, options),
    /** `GET /v1/secret_keys/:id` */
    get: (id: string, options?: CallOptions): Promise<t.SecretKey> => room.get<t.SecretKey>(id, options),
    /** `POST /v1/secret_keys/:id/rotate` */
    rotate: (id: string, body?: RotateBody, options?: KeyedOptions): Promise<t.RotatedSecretKey> =>
      room.rotate<t.RotatedSecretKey>(id, body, options),
    /**
     * `POST /v1/secret_keys/:id/revoke`. The answer's `descendants` are the keys made by it, all the way down; `cascade`
     * revokes these too.
     */
    revoke: (id: string, body?: t.SecretKeyRevoke, options?: CallOptions): Promise<t.RevokedSecretKey> =>
      room.revoke<t.RevokedSecretKey>(id, body, options),
  }
}
