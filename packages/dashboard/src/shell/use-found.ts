import type { Env } from '@keyrail/contract/shared'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { listKeys } from '../api/keys.ts'
import { listProjects } from '../api/projects.ts'
import { listTenants } from '../api/tenants.ts'
import { usePeople } from '../components/use-people.ts'
import { KeyIcon, MembersIcon, ProjectsIcon, TenantsIcon } from '../icons.tsx'
import { stateOf, titleOf } from '../screens/keys/key-words.ts'
import { mayBeSecret } from '../screens/keys/whole-key.ts'
import { shownWorkspaceId } from '../session/workspace.ts'
import type { EntryGroup } from './own-entries.ts'

const waitMs = 200
const lengthMin = 2
/** What the service accepts as search. */
const lengthMax = 64
const limit = 5

interface Found {
  readonly groups: readonly EntryGroup[]
  readonly isSearching: boolean
  readonly error: unknown
}

/** Keys, tenants, projects and people that the service finds by a text. What was found by another text is not shown. */
export function useFound(typed: string): Found {
  const text = typed.trim().slice(0, lengthMax)
  const isSearch = text.length >= lengthMin && !mayBeSecret(text)
  const [q] = useDebouncedValue(isSearch ? text : '', waitMs)
  const navigate = useNavigate()
  const people = usePeople(q !== '')
  const found = useQuery({
    queryKey: ['found', shownWorkspaceId(), q],
    async queryFn({ signal }) {
      const [keys, tenants, projects] = await Promise.all([
        listKeys({ query: { q, limit, include_revoked: 'true' } }, { signal }),
        listTenants({ query: { q, limit } }, { signal }),
        listProjects({ query: { q, limit } }, { signal }),
      ])
      return { keys: keys.data, tenants: tenants.data, projects: projects.data }
    },
    enabled: q !== '',
  })
  if (!isSearch) return { groups: [], isSearching: false, error: null }
  const error = found.error ?? people.error
  const isSearching = error === null && (q !== text || found.isFetching || people.isFetching)
  if (isSearching || error !== null || found.data === undefined)
    return { groups: [], isSearching, error: q === text ? error : null }
  const { keys, tenants, projects } = found.data
  const groups: EntryGroup[] = [
    {
      title: 'Keys',
      entries: keys.map(key => ({
        id: key.id,
        label: titleOf(key),
        note: [key.name === null ? null : `${key.display_prefix}…`, key.env, stateOf(key).toLowerCase()]
          .filter(part => part !== null)
          .join(', '),
        Icon: KeyIcon,
        run: () => void navigate({ to: '/keys/$keyId', params: { keyId: key.id }, search: inEnv(key.env) }),
      })),
    },
    {
      title: 'Tenants',
      entries: tenants.map(({ id, name, external_id }) => ({
        id,
        label: name ?? external_id,
        ...(name !== null && { note: external_id }),
        Icon: TenantsIcon,
        run: () => void navigate({ to: '/tenants/$tenantId', params: { tenantId: id } }),
      })),
    },
    {
      title: 'Projects',
      entries: projects.map(({ id, name, slug }) => ({
        id,
        label: name,
        note: slug,
        Icon: ProjectsIcon,
        run: () => void navigate({ to: '/projects/$projectId', params: { projectId: id } }),
      })),
    },
    {
      title: 'People',
      entries: people.data
        .filter(({ name, email, user_id }) =>
          [...(name ?? '').split(' '), name ?? '', email, user_id].some(one =>
            one.toLowerCase().startsWith(text.toLowerCase()),
          ),
        )
        .slice(0, limit)
        .map(({ user_id, name, email, role }) => ({
          id: user_id,
          label: name ?? email,
          note: name === null ? role : `${email}, ${role}`,
          Icon: MembersIcon,
          run: () => void navigate({ to: '/settings/members' }),
        })),
    },
  ]
  return { groups, isSearching: false, error: null }
}

const inEnv = (env: Env) => ({ env: env === 'test' ? ('test' as const) : undefined })
