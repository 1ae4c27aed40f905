import type { ErrorCode, FieldFault, Problem } from '@keyrail/contract/errors'

/** `unreachable`: no answer arrived. `unreadable`: an answer arrived that the service did not write. */
type OwnCode = 'unreachable' | 'unreadable'

/** A call that did not succeed: the problem that the service answered with, or the reason for no answer. */
export class ApiError extends Error {
  /** 0 when no answer arrived. */
  readonly status: number
  readonly code: ErrorCode | 'workspace_changed' | OwnCode
  /** A sentence for people. */
  readonly detail: string
  /** Null when no answer arrived. */
  readonly requestId: string | null
  readonly faults: readonly FieldFault[]
  /** How long the service asks to wait; null when it does not say. */
  readonly retryAfterSeconds: number | null

  constructor(parts: {
    status: number
    code: ApiError['code']
    detail: string
    requestId?: string | null
    faults?: readonly FieldFault[]
    retryAfterSeconds?: number | null
    cause?: unknown
  }) {
    super(parts.detail, { cause: parts.cause })
    this.name = 'ApiError'
    this.status = parts.status
    this.code = parts.code
    this.detail = parts.detail
    this.requestId = parts.requestId ?? null
    this.faults = parts.faults ?? []
    this.retryAfterSeconds = parts.retryAfterSeconds ?? null
  }

  /** The page about this code; null for a code that only the dashboard has. */
  get docsLink(): string | null {
    return this.code === 'unreachable' || this.code === 'unreadable' ? null : `/errors/${this.code}`
  }

  /** Whether the same call may succeed soon. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503
  }
}

export const unreachable = (cause: unknown) =>
  new ApiError({
    status: 0,
    code: 'unreachable',
    detail: 'Keyrail cannot be reached. Check your connection, then try again.',
    cause,
  })

/** Reads a refusal. A proxy in front of the service may have written it, so nothing is certain about its body. */
export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id')
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const shared = { status: response.status, retryAfterSeconds: Number.isFinite(seconds) ? seconds : null }
  const problem = await readProblem(response)
  if (problem === null) {
    return new ApiError({
      ...shared,
      code: 'unreadable',
      detail: `The answer did not come from Keyrail (status ${response.status}).`,
      requestId,
    })
  }
  return errorOfProblem(problem, shared)
}

/** @param shared the status and `Retry-After` of the response; by default the status in the problem */
export const errorOfProblem = (
  { status, code, detail, request_id, errors }: Problem,
  shared: { status: number; retryAfterSeconds?: number | null } = { status },
) => new ApiError({ ...shared, code, detail, requestId: request_id, faults: errors ?? [] })

async function readProblem(response: Response): Promise<Problem | null> {
  if (!response.headers.get('content-type')?.startsWith('application/problem+json')) return null
  try {
    return (await response.json()) as Problem
  } catch {
    return null
  }
}
