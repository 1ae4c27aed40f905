import type { Member } from '@keyrail/contract/vendor/members'
import type { SecretKey } from '@keyrail/contract/vendor/secret-keys'
import { useQuery } from '@tanstack/react-query'
import { listSecretKeys } from '../../api/secret-keys.ts'
import { rowsOf } from '../../components/use-list.ts'
import { usePeople } from '../../components/use-people.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { useAuditList } from './use-audit-list.ts'
import { actorOf, secretKeyWords } from './words.ts'

interface NamedActor {
  readonly value: string
  readonly label: string
}

/**
 * Who can be chosen as an actor: the people, and the newest secret keys.
 *
 * @param id the chosen one, which the rows name if it is neither of these
 */
export function useActors(id: string): { choices: readonly NamedActor[]; label: string } {
  const { data: people } = usePeople()
  const { data: keys } = useQuery({
    queryKey: ['secret-keys', 'newest', shownWorkspaceId()],
    queryFn: ({ signal }) => listSecretKeys({ query: { limit: 200 } }, { signal }),
  })
  const { list } = useAuditList()
  const choices = [
    ...people.map(person => ({ value: person.user_id, label: nameAmong(people, person) })),
    ...(keys?.data ?? []).map((key, _, all) => ({ value: key.id, label: keyAmong(all, key) })),
  ]
  const row = rowsOf(list).find(({ actor_id }) => actor_id === id)
  const chosen = choices.find(({ value }) => value === id)?.label
  return { choices, label: chosen ?? (row === undefined ? id : actorOf(row)) }
}

/** The name of a person, or the address where another one has the same name. */
const nameAmong = (people: readonly Member[], { name, email, user_id }: Member) =>
  name === null || people.some(other => other.user_id !== user_id && other.name === name) ? email : name

/** The name of a secret key, with its prefix where another one has the same name. */
const keyAmong = (keys: readonly SecretKey[], key: SecretKey) =>
  keys.some(({ id, name }) => id !== key.id && name !== null && name === key.name)
    ? `${secretKeyWords(key)}, ${key.display_prefix}…`
    : secretKeyWords(key)
