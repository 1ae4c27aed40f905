import type { Seeded } from '../../packages/server/test/seeded.ts'
import type { Scene } from '../../packages/server/test/vendor.ts'
import { bootstrapToken } from './service.ts'

/** What one client has created and may still change; no other client touches it. */
export interface Belongings {
  keys: string[]
  secretKeys: string[]
  projects: string[]
  tenants: string[]
  /** Tenants whose embed tokens it has not revoked yet. */
  quietTenants: string[]
}

export const noBelongings = (): Belongings => ({
  keys: [],
  secretKeys: [],
  projects: [],
  tenants: [],
  quietTenants: [],
})

export interface MutationPlan {
  call: readonly [method: string, url: string, body?: unknown]
  /** The audit row of the mutation: an action, and the target or a text that only its payload contains. */
  shows: { action: string; by: 'target' | 'text'; value: string }
  /** A create or a rotate: with its `Idempotency-Key` the same request may be repeated. */
  replayable: boolean
  /** Null where it creates a new workspace. */
  workspaceId: string | null
  token: string
  // biome-ignore lint/suspicious/noExplicitAny: the answer of the call above it.
  remember: (body: any) => void
}

interface Given {
  random: Seeded
  own: Belongings
  scene: Scene
  /** Begins with the load's prefix, and belongs to this mutation alone. */
  marker: string
}

type Parts = Pick<MutationPlan, 'call' | 'shows'> & Partial<MutationPlan>

interface Kind {
  weight: number
  /** Only a client that has some of these can do it. */
  needs?: keyof Belongings
  plan(given: Given): Parts
}

const byText = (action: string, { marker }: Given) => ({ action, by: 'text' as const, value: marker })
const byTarget = (action: string, value: string) => ({ action, by: 'target' as const, value })

/** Picked and dropped: after a rotate, a revocation or a deletion the client does not use it again. */
const forget = ({ random }: Given, list: string[]) => list.splice(random.integer(list.length), 1)[0] as string

const limits = (limit: number) => [
  { id: 'all', limit, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' },
]

const kinds: Record<string, Kind> = {
  createKey: {
    weight: 10,
    plan(given) {
      const { random, own, scene, marker } = given
      const ownParent = random.integer(4) === 0
      const parentOf = (list: string[], shared: string) =>
        ownParent && list.length > 0 ? random.pick(list) : shared
      const project_id = parentOf(own.projects, scene.projectId)
      const tenant_id = parentOf(own.tenants, scene.tenantId)
      return {
        call: [
          'POST',
          '/v1/keys',
          { project_id, tenant_id, env: random.pick(['live', 'test']), name: marker },
        ],
        shows: byText('api_key.created', given),
        replayable: true,
        // A resource under a parent that may be deleted is left to that deletion.
        remember: body => void (ownParent || own.keys.push(body.id)),
      }
    },
  },
  updateKey: {
    weight: 5,
    needs: 'keys',
    plan: given => ({
      call: [
        'PATCH',
        `/v1/keys/${given.random.pick(given.own.keys)}`,
        { name: given.marker, ...(given.random.integer(2) === 0 && { scopes: [given.marker] }) },
      ],
      shows: byText('api_key.updated', given),
    }),
  },
  rotateKey: {
    weight: 5,
    needs: 'keys',
    plan(given) {
      const id = forget(given, given.own.keys)
      return {
        call: ['POST', `/v1/keys/${id}/rotate`, { overlap_hours: given.random.pick([0, 24]) }],
        shows: byTarget('api_key.rotated', id),
        replayable: true,
        remember: body => void given.own.keys.push(body.id),
      }
    },
  },
  revokeKey: {
    weight: 5,
    needs: 'keys',
    plan(given) {
      const id = forget(given, given.own.keys)
      return {
        call: ['POST', `/v1/keys/${id}/revoke`, { reason: given.marker }],
        shows: byTarget('api_key.revoked', id),
      }
    },
  },
  createSecretKey: {
    weight: 2,
    plan: given => ({
      call: ['POST', '/v1/secret_keys', { env: 'test', name: given.marker }],
      shows: byText('secret_key.created', given),
      replayable: true,
      remember: body => void given.own.secretKeys.push(body.id),
    }),
  },
  updateSecretKey: {
    weight: 1,
    needs: 'secretKeys',
    plan: given => ({
      call: ['PATCH', `/v1/secret_keys/${given.random.pick(given.own.secretKeys)}`, { name: given.marker }],
      shows: byText('secret_key.updated', given),
    }),
  },
  rotateSecretKey: {
    weight: 1,
    needs: 'secretKeys',
    plan(given) {
      const id = forget(given, given.own.secretKeys)
      return {
        call: ['POST', `/v1/secret_keys/${id}/rotate`],
        shows: byTarget('secret_key.rotated', id),
        replayable: true,
        remember: body => void given.own.secretKeys.push(body.id),
      }
    },
  },
  revokeSecretKey: {
    weight: 1,
    needs: 'secretKeys',
    plan(given) {
      const id = forget(given, given.own.secretKeys)
      return {
        call: ['POST', `/v1/secret_keys/${id}/revoke`, { reason: given.marker }],
        shows: byTarget('secret_key.revoked', id),
      }
    },
  },
  createProject: {
    weight: 2,
    plan: given => ({
      call: ['POST', '/v1/projects', { name: given.marker, slug: given.marker }],
      shows: byText('project.created', given),
      replayable: true,
      remember: body => void given.own.projects.push(body.id),
    }),
  },
  updateProject: {
    weight: 2,
    needs: 'projects',
    plan(given) {
      const default_rate_limits = limits(1 + given.random.integer(1e6))
      const withLimits = given.random.integer(2) === 0
      return {
        call: [
          'PATCH',
          `/v1/projects/${given.random.pick(given.own.projects)}`,
          { name: given.marker, ...(withLimits && { default_rate_limits }) },
        ],
        shows: byText('project.updated', given),
      }
    },
  },
  deleteProject: {
    weight: 1,
    needs: 'projects',
    plan(given) {
      const id = forget(given, given.own.projects)
      return { call: ['DELETE', `/v1/projects/${id}`], shows: byTarget('project.deleted', id) }
    },
  },
  createTenant: {
    weight: 3,
    plan: given => ({
      call: ['POST', '/v1/tenants', { external_id: given.marker, name: given.marker }],
      shows: byText('tenant.created', given),
      replayable: true,
      remember: body => {
        given.own.tenants.push(body.id)
        given.own.quietTenants.push(body.id)
      },
    }),
  },
  updateTenant: {
    weight: 2,
    needs: 'tenants',
    plan: given => ({
      call: [
        'PATCH',
        `/v1/tenants/${given.random.pick(given.own.tenants)}`,
        { name: given.marker, meta: { marker: given.marker } },
      ],
      shows: byText('tenant.updated', given),
    }),
  },
  revokeEmbedTokens: {
    weight: 1,
    needs: 'quietTenants',
    plan(given) {
      const id = forget(given, given.own.quietTenants)
      return {
        call: ['POST', `/v1/tenants/${id}/embed_tokens/revoke`],
        shows: byTarget('tenant.embed_tokens_revoked', id),
      }
    },
  },
  deleteTenant: {
    weight: 1,
    needs: 'tenants',
    plan(given) {
      const id = forget(given, given.own.tenants)
      given.own.quietTenants = given.own.quietTenants.filter(tenant => tenant !== id)
      return { call: ['DELETE', `/v1/tenants/${id}`], shows: byTarget('tenant.deleted', id) }
    },
  },
  updateWorkspace: {
    weight: 1,
    plan: given => ({
      call: ['PATCH', '/v1/workspace', { name: given.marker, billing_email: `${given.marker}@example.com` }],
      shows: byText('workspace.updated', given),
    }),
  },
  createWorkspace: {
    weight: 1,
    plan: given => ({
      call: [
        'POST',
        '/v1/workspaces',
        { name: given.marker, slug: given.marker, billing_email: `${given.marker}@example.com` },
      ],
      shows: byText('workspace.created', given),
      replayable: true,
      workspaceId: null,
      token: bootstrapToken,
    }),
  },
}

/** A random mutation that the client has the resources for. */
export function planMutation(given: Given): MutationPlan {
  const possible = Object.entries(kinds).filter(([, { needs }]) => !needs || given.own[needs].length > 0)
  const weights = Object.fromEntries(possible.map(([name, { weight }]) => [name, weight]))
  const { plan } = kinds[given.random.weighted(weights)] as Kind
  return {
    replayable: false,
    workspaceId: given.scene.workspaceId,
    token: given.scene.live,
    remember: () => {},
    ...plan(given),
  }
}
