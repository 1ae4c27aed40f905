import { useQueries } from '@tanstack/react-query'
import { type Named, type Noun, namesMost, readNamed } from '../api/names.ts'
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
  const answerOf = useNamed(noun, ids)
  return id => {
    const answer = answerOf(id)
    return answer?.data?.name ?? (answer?.isPending && answer.fetchStatus === 'fetching' ? '…' : id)
  }
}

/** Of tenants by their ids, those whose keys are all refused at present. Read together with their names. */
export function useSuspended(ids: readonly string[]): (id: string) => boolean {
  const answerOf = useNamed('tenants', ids)
  return id => answerOf(id)?.data?.isSuspended === true
}

function useNamed(noun: Noun, ids: readonly string[]) {
  const unique = [...new Set(ids)]
  const answers = useQueries({
    queries: unique.map(id => ({
      queryKey: [noun, 'name', shownWorkspaceId(), id],
      queryFn: () => batches[noun](id),
      staleTime: freshMs,
    })),
  })
  const found = new Map(unique.map((id, at) => [id, answers[at]]))
  return (id: string) => found.get(id)
}

const batches: Record<Noun, (id: string) => Promise<Named>> = {
  projects: inBatches('projects'),
  tenants: inBatches('tenants'),
}

/** Collects the ids that are asked for together, and reads what has them at once. */
function inBatches(noun: Noun) {
  let next: { ids: Set<string>; named: Promise<Map<string, Named>> } | null = null
  return async (id: string): Promise<Named> => {
    if (next === null || next.ids.size === namesMost) {
      const ids = new Set<string>()
      const batch = {
        ids,
        named: new Promise(resolve => setTimeout(resolve, collectMs)).then(async () => {
          if (next === batch) next = null
          return await readNamed(noun, [...ids])
        }),
      }
      next = batch
    }
    next.ids.add(id)
    return (await next.named).get(id) ?? { id, name: id }
  }
}
