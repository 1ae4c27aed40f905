import type { Env } from '@keyrail/contract/shared'
import type { Key } from '@keyrail/contract/vendor/keys'
import type { Project } from '@keyrail/contract/vendor/projects'
import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { listKeys } from '../api/keys.ts'
import { listProjects } from '../api/projects.ts'
import { listTenants } from '../api/tenants.ts'
import { usePeople } from '../components/use-people.ts'
import { ActIcon, KeyIcon, MembersIcon, ProjectsIcon, TenantsIcon } from '../icons.tsx'
import { stateOf, titleOf } from '../screens/keys/key-words.ts'
import { mayBeSecret } from '../screens/keys/whole-key.ts'
import { useHasRole } from '../session/me.ts'
import { shownWorkspaceId } from '../session/workspace.ts'
import { type Act, type Asked, actsOnKey, actsOnTenant, keyActs, readAsked, tenantActs } from './acts.ts'
import type { Entry, EntryGroup } from './own-entries.ts'

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

type Navigate = ReturnType<typeof useNavigate>

/** Keys, tenants, projects and people that the service finds by a text. What was found by another text is not shown. */
export function useFound(typed: string): Found {
  const text = typed.trim().slice(0, lengthMax)
  const isSearch = text.length >= lengthMin && !mayBeSecret(text)
  const isEditor = useHasRole('admin')
  // With its last space: "revoke " asks for any key.
  const [q] = useDebouncedValue(isSearch ? typed.trimStart().slice(0, lengthMax) : '', waitMs)
  const asked = isEditor ? readAsked(q) : null
  const navigate = useNavigate()
  const people = usePeople(q !== '')
  const found = useQuery({
    queryKey: ['found', shownWorkspaceId(), q],
    queryFn: ({ signal }) => find(q, asked, signal),
    enabled: q !== '',
  })
  if (!isSearch) return { groups: [], isSearching: false, error: null }
  const error = found.error ?? people.error
  const isSearching = error === null && (q.trim() !== text || found.isFetching || people.isFetching)
  if (isSearching || error !== null || found.data === undefined)
    return { groups: [], isSearching, error: q.trim() === text ? error : null }
  const { keys, tenants, projects, ofKeys, ofTenants } = found.data
  const isAsked = (act: Act) => asked?.isAsked(act) === true
  const groups: EntryGroup[] = [
    { title: 'Keys', entries: keys.map(key => entryOfKey(key, navigate)) },
    { title: 'Tenants', entries: tenants.map(tenant => entryOfTenant(tenant, navigate)) },
    { title: 'Projects', entries: projects.map(project => entryOfProject(project, navigate)) },
    { title: 'People', entries: entriesOfPeople(people.data, text, navigate) },
    { title: 'Actions on keys', entries: ofKeys.flatMap(key => actsOfKey(key, isAsked, navigate)) },
    {
      title: 'Actions on tenants',
      entries: ofTenants.flatMap(tenant => actsOfTenant(tenant, isAsked, navigate)),
    },
  ]
  return { groups, isSearching: false, error: null }
}

async function find(q: string, asked: Asked | null, signal: AbortSignal) {
  const whole = q.trim()
  const of = asked?.name === '' ? {} : { q: asked?.name }
  const none = Promise.resolve({ data: [] })
  const [keys, tenants, projects, ofKeys, ofTenants] = await Promise.all([
    listKeys({ query: { q: whole, limit, include_revoked: 'true' } }, { signal }),
    listTenants({ query: { q: whole, limit } }, { signal }),
    listProjects({ query: { q: whole, limit } }, { signal }),
    asked !== null && keyActs.some(asked.isAsked) ? listKeys({ query: { ...of, limit } }, { signal }) : none,
    asked !== null && tenantActs.some(asked.isAsked)
      ? listTenants({ query: { ...of, limit } }, { signal })
      : none,
  ])
  return {
    keys: keys.data,
    tenants: tenants.data,
    projects: projects.data,
    ofKeys: ofKeys.data as Key[],
    ofTenants: ofTenants.data as Tenant[],
  }
}

const entryOfKey = (key: Key, navigate: Navigate): Entry => ({
  id: key.id,
  label: titleOf(key),
  note: noteOf(key),
  Icon: KeyIcon,
  run: () => void navigate({ to: '/keys/$keyId', params: { keyId: key.id }, search: inEnv(key.env) }),
})

const entryOfTenant = ({ id, name, external_id }: Tenant, navigate: Navigate): Entry => ({
  id,
  label: name ?? external_id,
  ...(name !== null && { note: external_id }),
  Icon: TenantsIcon,
  run: () => void navigate({ to: '/tenants/$tenantId', params: { tenantId: id } }),
})

const entryOfProject = ({ id, name, slug }: Project, navigate: Navigate): Entry => ({
  id,
  label: name,
  note: slug,
  Icon: ProjectsIcon,
  run: () => void navigate({ to: '/projects/$projectId', params: { projectId: id } }),
})

const entriesOfPeople = (
  people: ReturnType<typeof usePeople>['data'],
  text: string,
  navigate: Navigate,
): Entry[] =>
  people
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
    }))

const actsOfKey = (key: Key, isAsked: Asked['isAsked'], navigate: Navigate): Entry[] =>
  actsOnKey(key)
    .filter(isAsked)
    .map(({ act, label }) => ({
      id: `${act} ${key.id}`,
      label: `${label} ${titleOf(key)}`,
      note: noteOf(key),
      Icon: ActIcon,
      run: () =>
        void navigate({
          to: '/keys/$keyId',
          params: { keyId: key.id },
          search: { ...inEnv(key.env), act },
        }),
    }))

const actsOfTenant = (tenant: Tenant, isAsked: Asked['isAsked'], navigate: Navigate): Entry[] => {
  const { id, name, external_id } = tenant
  return actsOnTenant(tenant)
    .filter(isAsked)
    .map(({ act, label }) => ({
      id: `${act} ${id}`,
      label: `${label} ${name ?? external_id}`,
      ...(name !== null && { note: external_id }),
      Icon: ActIcon,
      run: () => void navigate({ to: '/tenants/$tenantId', params: { tenantId: id }, search: { act } }),
    }))
}

const noteOf = (key: Key): string =>
  [key.name === null ? null : `${key.display_prefix}…`, key.env, stateOf(key).toLowerCase()]
    .filter(part => part !== null)
    .join(', ')

const inEnv = (env: Env) => ({ env: env === 'test' ? ('test' as const) : undefined })
