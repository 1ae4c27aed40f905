import {
  AuditIcon,
  EmbedIcon,
  KeyIcon,
  MembersIcon,
  OverviewIcon,
  ProjectsIcon,
  SecretKeyIcon,
  SecurityIcon,
  TenantsIcon,
  UsageIcon,
  WorkspaceIcon,
} from '../icons.tsx'

/** The places of the left side, in their order. */
export const places = [
  { label: 'Overview', to: '/', Icon: OverviewIcon },
  { label: 'Keys', to: '/keys', Icon: KeyIcon },
  { label: 'Tenants', to: '/tenants', Icon: TenantsIcon },
  { label: 'Projects', to: '/projects', Icon: ProjectsIcon },
  { label: 'Usage', to: '/usage', Icon: UsageIcon },
  { label: 'Audit log', to: '/audit-log', Icon: AuditIcon },
  { label: 'Security events', to: '/security-events', Icon: SecurityIcon },
] as const

export const settings = [
  { label: 'Workspace', to: '/settings/workspace', Icon: WorkspaceIcon },
  { label: 'Members', to: '/settings/members', Icon: MembersIcon },
  { label: 'Secret keys', to: '/settings/secret-keys', Icon: SecretKeyIcon },
  { label: 'Embed', to: '/settings/embed', Icon: EmbedIcon },
] as const

export const docsAddress = '/guides'
