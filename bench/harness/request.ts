/** What a load is made of, as plain data: it travels to the generator's own process as JSON. */

export type HttpRequest = {
  /** GET, unless given. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/`, unless given. */
  path?: string
  headers?: Readonly<Record<string, string>>
  body?: string
}

/**
 * A module that exports `makeRequests(argument): (n: number) => HttpRequest`, for requests that differ each
 * time. `n` counts from 0 over all connections of one load. It is called on the generator's core: keep it cheap.
 */
export type RequestModule = { module: string; argument?: unknown }

export type RequestSource = readonly HttpRequest[] | RequestModule

/** What an answer must be; each that is not counts as wrong. */
export type Expectation = {
  /** 200, unless given. */
  expectStatus?: number
  /** Text that the body must contain. */
  expectBody?: string
}

/** Turns the source into a function of the request's number; a list is gone through round and round. */
export async function requestMaker(source: RequestSource): Promise<(n: number) => HttpRequest> {
  if ('module' in source) {
    const { makeRequests } = await import(source.module)
    if (typeof makeRequests !== 'function') throw new Error(`${source.module} exports no makeRequests`)
    return makeRequests(source.argument)
  }
  if (source.length === 0) throw new Error('a load needs at least one request')
  return n => source[n % source.length] ?? {}
}
