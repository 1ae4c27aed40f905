import { readUuid } from '../http/option-values.ts'
import { type Listing, listOf } from './list.ts'
import type { AdminCall, AdminRequest, CallOptions, KeyedOptions } from './request.ts'

/** How a key is replaced by its successor. */
export interface RotateBody {
  /** How long the predecessor stays valid, 0 to 168; 24 unless given. */
  overlap_hours?: number
}

/** Why a key is revoked. */
export interface RevokeBody {
  /** 1 to 500 characters. */
  reason?: string
}

/**
 * The calls that most resources have. What they answer is said by who calls them; an id that is none rejects, since
 * it might lead to another path.
 */
export class Room {
  readonly #request: AdminRequest
  readonly #base: string
  readonly #object: string

  /** @param object what an answer says that it is */
  constructor(request: AdminRequest, base: string, object: string) {
    this.#request = request
    this.#base = base
    this.#object = object
  }

  path(id: string): string {
    return `${this.#base}/${readUuid('id', id)}`
  }

  create<T>(body: object, options?: KeyedOptions): Promise<T> {
    return this.#post<T>(this.#base, body, { status: 201, repeat: 'keyed', options })
  }

  list<T>(query?: { cursor?: string }, options?: CallOptions): Listing<T> {
    return listOf<T>(this.#request, this.#base, query, options)
  }

  async get<T>(id: string, options?: CallOptions): Promise<T> {
    return this.#request<T>({
      method: 'GET',
      path: this.path(id),
      object: this.#object,
      repeat: 'safe',
      options,
    })
  }

  async update<T>(id: string, body: object, options?: CallOptions): Promise<T> {
    return this.#request<T>({
      method: 'PATCH',
      path: this.path(id),
      body,
      object: this.#object,
      repeat: 'safe',
      options,
    })
  }

  async rotate<T>(id: string, body: RotateBody = {}, options?: KeyedOptions): Promise<T> {
    return this.#post<T>(`${this.path(id)}/rotate`, body, { repeat: 'keyed', options })
  }

  async revoke<T>(id: string, body: RevokeBody = {}, options?: CallOptions, query?: object): Promise<T> {
    return this.#post<T>(`${this.path(id)}/revoke`, body, { repeat: 'safe', options, query })
  }

  async delete<T>(id: string, options?: CallOptions, query?: object): Promise<T> {
    return this.#request<T>({
      method: 'DELETE',
      path: this.path(id),
      object: this.#object,
      repeat: 'never',
      query,
      options,
    })
  }

  #post<T>(
    path: string,
    body: object,
    more: Pick<AdminCall, 'status' | 'repeat' | 'options' | 'query'>,
  ): Promise<T> {
    return this.#request<T>({ method: 'POST', path, body, object: this.#object, ...more })
  }
}
