/** An error answer of the vendor's API: RFC 9457 problem details. */
export interface HttpProblem<Code extends string = string> {
  status: number
  /** Names in lower case. */
  headers: Record<string, string>
  body: {
    type: 'about:blank'
    title: string
    status: number
    detail: string
    code: Code
    /** With `insufficient_scope`: all required scopes. */
    scopes?: readonly string[]
  }
}

const titles = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const

/** Never cached, because the next request may get another answer. */
export function httpProblem<Code extends string>(
  status: keyof typeof titles,
  code: Code,
  detail: string,
  {
    headers = {},
    more = {},
  }: { headers?: Readonly<Record<string, string>>; more?: { scopes?: readonly string[] } } = {},
): HttpProblem<Code> {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
    body: { type: 'about:blank', title: titles[status], status, detail, code, ...more },
  }
}

/** For a mistake in the vendor's code. The customer cannot act on it; the vendor's log has the details. */
export const misusedProblem = (): HttpProblem =>
  httpProblem(500, 'internal_error', 'This API is misconfigured; see its log')
