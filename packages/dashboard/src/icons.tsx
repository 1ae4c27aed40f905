import type { ReactNode } from 'react'

/** The icons of the dashboard, on a grid of 24. They stand beside a text, so screen readers pass over them. */

interface IconProps {
  /** In pixels. */
  readonly size?: number
}

const Drawn = ({ size = 18, children }: IconProps & { readonly children: ReactNode }) => (
  <svg
    viewBox="0 0 24 24"
    width={size}
    height={size}
    fill="none"
    stroke="currentColor"
    strokeWidth={1.75}
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    focusable="false"
  >
    {children}
  </svg>
)

export const OverviewIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z" />
  </Drawn>
)
export const KeyIcon = (props: IconProps) => (
  <Drawn {...props}>
    <circle cx="8" cy="15" r="4" />
    <path d="m11 12 8-8M16 7l3 3M14 9l2 2" />
  </Drawn>
)
export const TenantsIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M4 21V5l8-2v18M12 8l8 2v11M2 21h20M7 8h2M7 12h2M7 16h2M15.5 13h1M15.5 17h1" />
  </Drawn>
)
export const ProjectsIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="m12 3 9 5-9 5-9-5zM3 12.5l9 5 9-5M3 16.5l9 5 9-5" />
  </Drawn>
)
export const UsageIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M4 20h16M6 20v-6M11 20V9M16 20v-9M20 20V5" />
  </Drawn>
)
export const AuditIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7M9 8h2" />
  </Drawn>
)
export const SecurityIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M12 3l8 3v6c0 4.5-3.2 7.8-8 9-4.8-1.2-8-4.5-8-9V6zM9 12l2 2 4-4" />
  </Drawn>
)
export const WorkspaceIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M3 10 12 3l9 7v11H3zM9 21v-6h6v6" />
  </Drawn>
)
export const MembersIcon = (props: IconProps) => (
  <Drawn {...props}>
    <circle cx="9" cy="8" r="3.5" />
    <path d="M2.5 20c0-3.6 2.9-6 6.5-6s6.5 2.4 6.5 6M16 4.8a3.5 3.5 0 0 1 0 6.4M18 14.5c2.2.8 3.5 2.8 3.5 5.5" />
  </Drawn>
)
export const SecretKeyIcon = (props: IconProps) => (
  <Drawn {...props}>
    <rect x="4" y="11" width="16" height="10" rx="2" />
    <path d="M8 11V7a4 4 0 0 1 8 0v4M12 15v2" />
  </Drawn>
)
export const EmbedIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="m8 8-5 4 5 4M16 8l5 4-5 4M13.5 5l-3 14" />
  </Drawn>
)
export const SearchIcon = (props: IconProps) => (
  <Drawn {...props}>
    <circle cx="11" cy="11" r="6.5" />
    <path d="m16 16 5 5" />
  </Drawn>
)
export const CopyIcon = (props: IconProps) => (
  <Drawn {...props}>
    <rect x="8" y="8" width="12" height="12" rx="2" />
    <path d="M16 8V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h2" />
  </Drawn>
)
export const CheckIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="m5 12.5 5 5L19 7" />
  </Drawn>
)
export const ChevronIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="m8 10 4-4 4 4M8 14l4 4 4-4" />
  </Drawn>
)
export const AccountIcon = (props: IconProps) => (
  <Drawn {...props}>
    <circle cx="12" cy="8" r="4" />
    <path d="M4 21c0-4.2 3.4-7 8-7s8 2.8 8 7" />
  </Drawn>
)
export const ThemeIcon = (props: IconProps) => (
  <Drawn {...props}>
    <circle cx="12" cy="12" r="8" />
    <path d="M12 4v16M12 7.5h6.5M12 12h8M12 16.5h6.5" />
  </Drawn>
)
export const DocsIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M12 6c-2-1.5-4.5-2-8-2v14c3.5 0 6 .5 8 2 2-1.5 4.5-2 8-2V4c-3.5 0-6 .5-8 2zM12 6v14" />
  </Drawn>
)
export const WarningIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M12 4 2.5 20h19zM12 10v4.500M12 17.500v.1" />
  </Drawn>
)
export const OfflineIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M3 3l18 18M8.5 15.500a5 5 0 0 1 7 0M5.5 12.500a9 9 0 0 1 4-2.300M18.5 12.500a9 9 0 0 0-4.5-2.500M2.5 9.500a13 13 0 0 1 4-2.600M21.5 9.500A13 13 0 0 0 11 6M12 19v.1" />
  </Drawn>
)
export const LeaveIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M10 4H5v16h5M15 8l4 4-4 4M19 12H9" />
  </Drawn>
)
export const EnvironmentIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M9 3h6M10 3v6l-5 10a1.500 1.500 0 0 0 1.400 2h11.200a1.500 1.500 0 0 0 1.400-2l-5-10V3M7.500 15h9" />
  </Drawn>
)
export const PlusIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M12 5v14M5 12h14" />
  </Drawn>
)
/** Something is done at once, or after a question. */
export const ActIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M13 3 5 14h6l-1 7 8-11h-6z" />
  </Drawn>
)

export const MoreIcon = (props: IconProps) => (
  <Drawn {...props}>
    <path d="M5 12v.1M12 12v.1M19 12v.1" strokeWidth={3} />
  </Drawn>
)

/** The mark of Keyrail. */
export const Mark = ({ size = 24 }: IconProps) => (
  <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" fill="#1d6a58" />
    <g fill="none" stroke="#fff" strokeWidth="2.5" strokeLinecap="round">
      <circle cx="11" cy="16" r="4.5" />
      <path d="M15.5 16H26M21 16v4.5M25 16v3" />
    </g>
  </svg>
)
