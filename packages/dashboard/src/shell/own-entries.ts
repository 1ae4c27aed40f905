import type { Key } from '@keyrail/contract/vendor/keys'
import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { useMantineColorScheme } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useReported } from '../components/use-reported.ts'
import {
  AccountIcon,
  ActIcon,
  CheckIcon,
  DocsIcon,
  EnvironmentIcon,
  LeaveIcon,
  PlusIcon,
  ThemeIcon,
  WorkspaceIcon,
} from '../icons.tsx'
import { useHasRole, useMe, useShownWorkspace, useSignOut, useSwitchWorkspace } from '../session/me.ts'
import { shownWorkspaceId } from '../session/workspace.ts'
import { type Act, actsOnKey, actsOnTenant, keyActs, readAsked, tenantActs } from './acts.ts'
import { docsAddress, places, settings } from './navigation.ts'
import { useEnv } from './shell-route.tsx'

/** Something that the palette offers. */
export interface Entry {
  readonly id: string
  readonly label: string
  /** What distinguishes it from others with the same label. */
  readonly note?: string
  /** Other words that find it. */
  readonly also?: string
  readonly Icon: (props: { size?: number }) => ReactNode
  readonly run: () => void
  /** Put into the field in place of closing the palette: a person types on. */
  readonly fills?: string
}

export interface EntryGroup {
  readonly title: string
  readonly entries: readonly Entry[]
}

const schemes = [
  ['light', 'Light theme'],
  ['dark', 'Dark theme'],
  ['auto', 'Theme of the system'],
] as const

/** They need the name of a thing, which a person types behind them. */
const toFinish: readonly Entry[] = [
  ...keyActs.map(act => ({ ...act, note: 'a key' })),
  ...tenantActs.map(act => ({ ...act, note: 'a tenant' })),
].map(({ act, label, also, note }) => ({
  id: act,
  label: `${label} …`,
  note,
  also: also.join(' '),
  Icon: ActIcon,
  run: () => {},
  fills: `${label.split(' ')[0]} `,
}))

/** What can be done with the key or the tenant that the page shows. */
function useActsOfPage(): Entry[] {
  const { keyId, tenantId } = useParams({ strict: false }) as { keyId?: string; tenantId?: string }
  const navigate = useNavigate()
  const client = useQueryClient()
  const key = client.getQueryData<Key>(['keys', 'one', keyId])
  const tenant = client.getQueryData<Tenant>(['tenants', 'one', shownWorkspaceId(), tenantId])
  const entryOf = ({ act, label, also }: Act, what: string): Entry => ({
    id: `${act} here`,
    label: `${label} ${what}`,
    also: also.join(' '),
    Icon: ActIcon,
    run: () => void navigate({ to: '.', search: (now: object) => ({ ...now, act }) }),
  })
  return [
    ...(key === undefined ? [] : actsOnKey(key).map(act => entryOf(act, 'this key'))),
    ...(tenant === undefined ? [] : actsOnTenant(tenant).map(act => entryOf(act, 'this tenant'))),
  ]
}

/** Places and actions whose words begin with those of a text. What the role of the person does not allow is left out. */
export function useOwnEntries(text: string): EntryGroup[] {
  const navigate = useNavigate()
  const isAdmin = useHasRole('admin')
  const creating = useCreateEntries(text)
  const everyones = useEveryonesActions()
  const toPlace = ({ label, to, Icon }: (typeof places)[number] | (typeof settings)[number]): Entry => ({
    id: to,
    label,
    Icon,
    run: () => void navigate({ to }),
  })
  const ofPage = useActsOfPage()
  const groups: EntryGroup[] = [
    { title: 'This page', entries: isAdmin ? ofPage : [] },
    { title: 'Places', entries: [...places, ...settings].map(toPlace) },
    { title: 'Actions', entries: [...creating, ...everyones] },
  ]
  const typed = wordsOf(text)
  return groups.map(({ title, entries }) => ({
    title,
    entries: entries.filter(({ label, note, also }) => {
      const words = wordsOf(`${label} ${note ?? ''} ${also ?? ''}`)
      return typed.every(one => words.some(word => word.startsWith(one)))
    }),
  }))
}

/** What an admin or an owner creates, and what they do with the thing whose name they type. */
function useCreateEntries(text: string): Entry[] {
  const navigate = useNavigate()
  const [isAdmin, isOwner] = [useHasRole('admin'), useHasRole('owner')]
  const toCreate = (label: string, to: '/keys' | '/tenants' | '/projects' | '/settings/secret-keys') => ({
    id: `create ${to}`,
    label,
    also: 'add new issue',
    Icon: PlusIcon,
    run: () => void navigate({ to, search: { create: 'open' } }),
  })
  return [
    ...(isAdmin
      ? [
          toCreate('Create key', '/keys'),
          toCreate('Create tenant', '/tenants'),
          toCreate('Create project', '/projects'),
          toCreate('Create secret key', '/settings/secret-keys'),
          // Behind the word for an act, the name of a thing follows.
          ...(readAsked(text) === null ? toFinish : []),
        ]
      : []),
    ...(isOwner
      ? [
          {
            id: 'invite',
            label: 'Invite person',
            also: 'add new member',
            Icon: PlusIcon,
            run: () => void navigate({ to: '/settings/members', search: { create: 'open' } }),
          },
        ]
      : []),
  ]
}

/** What any person may do. */
function useEveryonesActions(): Entry[] {
  const navigate = useNavigate()
  const env = useEnv()
  const { workspaces } = useMe()
  const shown = useShownWorkspace()
  const switchTo = useReported(useSwitchWorkspace())
  const signOut = useSignOut()
  const { setColorScheme } = useMantineColorScheme()
  return [
    {
      id: 'env',
      label: env === 'live' ? 'Show the test environment' : 'Show the live environment',
      Icon: EnvironmentIcon,
      run: () =>
        void navigate({
          to: '.',
          search: (now: object) => ({ ...now, env: env === 'live' ? ('test' as const) : undefined }),
        }),
    },
    {
      id: 'get-started',
      label: 'Get started',
      Icon: CheckIcon,
      run: () => void navigate({ to: '/get-started' }),
    },
    {
      id: 'docs',
      label: 'Documentation',
      note: 'opens a new tab',
      Icon: DocsIcon,
      run: () => void window.open(docsAddress, '_blank', 'noreferrer'),
    },
    ...schemes.map(([scheme, label]) => ({
      id: scheme,
      label,
      Icon: ThemeIcon,
      run: () => setColorScheme(scheme),
    })),
    ...workspaces
      .filter(({ id }) => id !== shown.id)
      .map(({ id, name }) => ({
        id,
        label: `Switch to ${name}`,
        note: 'workspace',
        Icon: WorkspaceIcon,
        run: () => switchTo(id),
      })),
    {
      id: 'account',
      label: 'Account',
      Icon: AccountIcon,
      run: () => void navigate({ to: '/account' }),
    },
    { id: 'sign-out', label: 'Sign out', Icon: LeaveIcon, run: () => void signOut() },
  ]
}

const wordsOf = (text: string) =>
  text
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '')
