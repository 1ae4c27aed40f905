import type { Problem } from '@keyrail/contract/errors'
import type { Routes } from '@keyrail/contract/routes/all'
import type { Static, TSchema } from 'typebox'
import { endedSession } from '../session/renewal.ts'
import { currentToken } from '../session/token.ts'
import { shownWorkspaceId, workspaceReturned } from '../session/workspace.ts'
import { ApiError, errorOf, errorOfProblem, unreachable } from './api-error.ts'

type Named<Name extends keyof Routes> = Name extends `${string}:${string}` ? { id: string } : unknown
type Queried<Route> = Route extends { query: infer Query extends TSchema }
  ? { query?: { [Name in keyof Static<Query>]?: Static<Query>[Name] | undefined } }
  : unknown
/** A body in which nothing is required may be left out. */
type Bodied<Route> = Route extends { body: infer Body extends TSchema }
  ? object extends Static<Body>
    ? { body?: Static<Body> }
    : { body: Static<Body> }
  : unknown
type Input<Name extends keyof Routes> = Named<Name> & Queried<Routes[Name]> & Bodied<Routes[Name]>

type Answer<Name extends keyof Routes> = Static<Routes[Name]['answer']>

interface Options {
  /** Aborts when the page that asks is left. */
  signal?: AbortSignal | undefined
  /** Repeats of a change with the same key are executed once. */
  idempotencyKey?: string
  /** A refused session is an error. By default the page asks the person to sign in again, and the call waits for that. */
  isSilent?: boolean
  /** The request outlives the page. */
  keepalive?: boolean
  /** Takes the bytes of an answer that is a file, as they arrive. The call itself then returns an empty text. */
  onBytes?: (bytes: Uint8Array<ArrayBuffer>) => void
}

/** With `onStep` the route reports its progress, in lines before its answer. */
type OptionsOf<Name extends keyof Routes> = Options &
  (Routes[Name] extends { step: infer Step extends TSchema }
    ? { onStep?: (step: Static<Step>) => void }
    : unknown)

interface Sent extends Options {
  readonly onStep?: (step: object) => void
  readonly method: string
  readonly path: string
  readonly body: object | undefined
  /** Sends no credential. */
  readonly isOpen: boolean
}

type EndpointCall<Name extends keyof Routes> =
  object extends Input<Name>
    ? (input?: Input<Name>, options?: OptionsOf<Name>) => Promise<Answer<Name>>
    : (input: Input<Name>, options?: OptionsOf<Name>) => Promise<Answer<Name>>

/**
 * A route of the service as a function, with the shapes of the contract.
 *
 * @param access `open` for routes that take no credential
 */
export function endpoint<Name extends keyof Routes>(
  name: Name,
  ...[access]: Routes[Name]['plane'] extends 'open' ? ['open'] : []
): EndpointCall<Name> {
  const [method = '', path = ''] = name.split(' ')
  const call = (input: { id?: string; query?: object; body?: object } = {}, options: Options = {}) =>
    send({
      ...options,
      method,
      path: path.replace(/:\w+/, () => encodeURIComponent(input.id ?? '')) + queryText(input.query),
      body: input.body,
      isOpen: access === 'open',
    })
  return call as unknown as EndpointCall<Name>
}

function queryText(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

/** Repeats a refused request once the reason is gone: the person signed in again, or went back to this workspace. */
async function send(request: Sent): Promise<unknown> {
  for (;;) {
    const token = request.isOpen ? null : currentToken()
    const workspaceId = request.path.startsWith('/v1/auth/') ? null : shownWorkspaceId()
    const response = await transmit(request, token, workspaceId)
    const answer = response.ok ? await readAnswer(response, request) : await errorOf(response)
    if (!(answer instanceof ApiError)) return answer
    const error = answer
    const handled = token !== null && (await resolved(error, token, request))
    if (!handled) throw error
  }
}

async function resolved(error: ApiError, token: string, { signal, isSilent }: Sent): Promise<boolean> {
  if (signal?.aborted || isSilent) return false
  if (error.code === 'unauthenticated') {
    await endedSession(token)
    return true
  }
  if (error.code === 'workspace_changed') {
    await workspaceReturned()
    return true
  }
  return false
}

async function transmit(
  { method, path, body, signal, idempotencyKey, onStep, keepalive = false }: Sent,
  token: string | null,
  workspaceId: string | null,
): Promise<Response> {
  const headers: Record<string, string> = {
    accept: onStep === undefined ? 'application/json' : 'application/x-ndjson',
  }
  if (token !== null) headers.authorization = `Bearer ${token}`
  if (workspaceId !== null) headers['keyrail-workspace'] = workspaceId
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
  if (body !== undefined) headers['content-type'] = 'application/json'
  try {
    return await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      keepalive,
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw unreachable(error)
  }
}

/** @returns an error if the answer ends with a problem, after its steps. */
async function readAnswer(response: Response, { onBytes, onStep, signal }: Sent): Promise<unknown> {
  try {
    if (onStep !== undefined) return await readSteps(response, onStep)
    if (onBytes === undefined) return await response.json()
    await readBytes(response, onBytes)
    return ''
  } catch (error) {
    if (signal?.aborted) throw error
    throw unreachable(error)
  }
}

/** The lines of an answer: steps, and at the end the answer or a problem. */
async function readSteps(response: Response, onStep: (step: object) => void): Promise<unknown> {
  let rest = ''
  let answer: unknown
  const decoder = new TextDecoder()
  await readBytes(response, bytes => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const value = JSON.parse(line) as { object?: string }
      if (value.object === undefined) answer = errorOfProblem(value as Problem)
      else if (value.object.endsWith('_progress')) onStep(value)
      else answer = value
    }
  })
  if (answer === undefined) throw new Error('the answer was cut off')
  return answer
}

async function readBytes(response: Response, onBytes: (bytes: Uint8Array<ArrayBuffer>) => void) {
  const reader = response.body?.getReader()
  for (;;) {
    const part = await reader?.read()
    if (part === undefined || part.done) return
    onBytes(part.value)
  }
}
