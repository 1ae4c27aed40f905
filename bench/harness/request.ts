/** A load, as plain data: it travels to the generator's process as JSON. */

export type HttpRequest = {
  /** GET by default. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/` by default. */
  path?: string
  headers?: Readonly<Record<string, string>>
  body?: string
}

/**
 * A module that exports `makeRequests(argument): (n: number) => HttpRequest`, for requests that differ each
 * time. `n` counts from 0 over all connections of one load. It is called on the generator's core: keep it cheap.
 */
type RequestModule = { module: string; argument?: unknown }

export type RequestSource = readonly HttpRequest[] | RequestModule

/** What an answer must be; every other answer counts as wrong. */
export type Expectation = {
  /** 200 by default. */
  expectStatus?: number
  /** Text that the body must contain. */
  expectBody?: string
}

/** Turns the source into a function of the request's number; a list is repeated. */
export async function requestMaker(source: RequestSource): Promise<(n: number) => HttpRequest> {
  if ('module' in source) {
    const { makeRequests } = await import(source.module)
    if (typeof makeRequests !== 'function') throw new Error(`${source.module} exports no makeRequests`)
    return makeRequests(source.argument)
  }
  if (source.length === 0) throw new Error('a load needs at least one request')
  return n => source[n % source.length] ?? {}
}
