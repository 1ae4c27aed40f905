import { readUuid } from '../http/option-values.ts'
import { type Listing, listOf } from './list.ts'
import { type NamedTenant, noTenant, readExternalId } from './named-tenant.ts'
import type { AdminCall, AdminRequest, CallOptions, KeyedOptions } from './request.ts'

/** How a rotation replaces a key. */
export interface RotateBody {
  /** Hours for which the predecessor stays valid, 0 to 168; 24 by default. */
  overlapHours?: number
}

/** Why a key is revoked. */
export interface RevokeBody {
  /** 1 to 500 characters. */
  reason?: string
}

type CallOfOne = Partial<Omit<AdminCall, 'path' | 'options'>> & { below?: string }

/**
 * The calls that most resources share; the caller names the type of each answer. Rejects an invalid id, which could change
 * the path of the request.
 *
 * @param object the `object` of an answer
 */
export function resourceOf(request: AdminRequest, base: string, object: string) {
  const list = <T>(query?: { cursor?: string; externalId?: string }, options?: CallOptions): Listing<T> =>
    listOf<T>(request, base, query, options)

  /** Looks up an external id once, so that a repeated call concerns the same tenant. */
  async function idOf(id: string, options?: CallOptions): Promise<string> {
    const externalId = object === 'tenant' ? readExternalId('id', id) : undefined
    if (externalId === undefined) return readUuid('id', id)
    const { data } = await list<NamedTenant>({ externalId }, options).page()
    // Compared here, because a proxy may drop the query and return other tenants.
    const tenant = data.find(listed => listed.externalId === externalId)
    if (tenant === undefined) throw noTenant(externalId)
    return readUuid('id', tenant.id)
  }

  /** @param call its `below` is the path after that of the resource, such as `/rotate` */
  const one = <T>(
    id: string,
    options?: KeyedOptions,
    { below = '', ...call }: CallOfOne = {},
  ): Promise<T> => {
    const path = async () => `${base}/${await idOf(id, options)}${below}`
    return request<T>({ object, ...call, path, options })
  }

  return {
    list,
    one,
    create: <T>(body: object, options?: KeyedOptions): Promise<T> =>
      request<T>({ method: 'POST', path: base, body, status: 201, object, keyed: true, options }),
    update: <T>(id: string, body: object, options?: CallOptions): Promise<T> =>
      one<T>(id, options, { method: 'PATCH', body }),
    rotate: <T>(id: string, body: RotateBody = {}, options?: KeyedOptions): Promise<T> =>
      one<T>(id, options, { method: 'POST', below: '/rotate', body, keyed: true }),
    revoke: <T>(
      id: string,
      { wait, ...body }: RevokeBody & { wait?: boolean } = {},
      options?: CallOptions,
    ): Promise<T> => one<T>(id, options, { method: 'POST', below: '/revoke', query: { wait }, body }),
    delete: <T>(id: string, options?: CallOptions, query?: object): Promise<T> =>
      one<T>(id, options, { method: 'DELETE', query }),
  }
}
