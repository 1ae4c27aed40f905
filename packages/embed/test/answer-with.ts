import type { Stage, Visit } from './stage.ts'

interface Refusal {
  readonly status: number
  readonly code: string
  readonly requestId?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers calls of the embed plane in place of the service, as often as `times` says. The count is of calls so far. */
export async function answerWith(
  { url, site }: Stage,
  { page }: Visit,
  at: { readonly method: string; readonly path: string; readonly times?: number },
  { status, code, requestId = 'req_of_the_test', headers = {} }: Refusal,
): Promise<{ asked: number }> {
  const calls = { asked: 0 }
  await page.route(`${url}/v1/embed${at.path}`, async route => {
    if (route.request().method() !== at.method) return route.fallback()
    calls.asked += 1
    if (calls.asked > (at.times ?? 1)) return route.fallback()
    await route.fulfill({
      status,
      contentType: 'application/problem+json',
      headers: {
        'access-control-allow-origin': site,
        'access-control-expose-headers': 'retry-after',
        ...headers,
      },
      body: JSON.stringify({ code, status, detail: 'As the test wants.', request_id: requestId }),
    })
  })
  return calls
}
