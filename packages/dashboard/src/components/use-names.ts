import { useQueries } from '@tanstack/react-query'
import { type Noun, namesMost, readNames } from '../api/names.ts'
import { shownWorkspaceId } from '../session/workspace.ts'

const freshMs = 60_000
/** For how long ids are collected. Repeats of failed reads share a call too, although each has its own timer. */
const collectMs = 10

/**
 * The names of projects or tenants by their ids. Names that no screen has read yet are asked for together.
 *
 * @returns the name; the id when nothing has it any more; "…" until the service has answered
 */
export function useNames(noun: Noun, ids: readonly string[]): (id: string) => string {
  const unique = [...new Set(ids)]
  const answers = useQueries({
    queries: unique.map(id => ({
      queryKey: [noun, 'name', shownWorkspaceId(), id],
      queryFn: () => batches[noun](id),
      staleTime: freshMs,
    })),
  })
  const names = new Map(unique.map((id, at) => [id, answers[at]]))
  return id => {
    const answer = names.get(id)
    return answer?.data ?? (answer?.isPending && answer.fetchStatus === 'fetching' ? '…' : id)
  }
}

const batches: Record<Noun, (id: string) => Promise<string>> = {
  projects: inBatches('projects'),
  tenants: inBatches('tenants'),
}

/** Collects the ids that are asked for together, and reads their names at once. */
function inBatches(noun: Noun) {
  let next: { ids: Set<string>; names: Promise<Map<string, string>> } | null = null
  return async (id: string): Promise<string> => {
    if (next === null || next.ids.size === namesMost) {
      const ids = new Set<string>()
      const batch = {
        ids,
        names: new Promise(resolve => setTimeout(resolve, collectMs)).then(async () => {
          if (next === batch) next = null
          return await readNames(noun, [...ids])
        }),
      }
      next = batch
    }
    next.ids.add(id)
    return (await next.names).get(id) ?? id
  }
}
