import type { WidgetVersion } from './page-samples.ts'

/** What pages name in their tag. Null while the service builds the widget. */
export async function readWidgetVersion({ signal }: { signal: AbortSignal }): Promise<WidgetVersion | null> {
  const answer = await fetch('/embed/v1/keyrail-keys.json', { signal })
  return answer.ok ? ((await answer.json()) as WidgetVersion) : null
}
