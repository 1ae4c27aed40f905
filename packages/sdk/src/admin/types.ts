import type * as embed from '@keyrail/contract/embed'
import type * as securityEvents from '@keyrail/contract/security-events'
import type * as shared from '@keyrail/contract/shared'
import type * as audit from '@keyrail/contract/vendor/audit'
import type * as invites from '@keyrail/contract/vendor/invites'
import type * as keys from '@keyrail/contract/vendor/keys'
import type * as members from '@keyrail/contract/vendor/members'
import type * as nodes from '@keyrail/contract/vendor/nodes'
import type * as overview from '@keyrail/contract/vendor/overview'
import type * as permissions from '@keyrail/contract/vendor/permissions'
import type * as projects from '@keyrail/contract/vendor/projects'
import type * as secretKeys from '@keyrail/contract/vendor/secret-keys'
import type * as tenants from '@keyrail/contract/vendor/tenants'
import type * as usage from '@keyrail/contract/vendor/usage'
import type * as workspace from '@keyrail/contract/vendor/workspace'
import type { Static } from 'typebox'

// Bodies and answers of the service, from its own schemas. `build.ts` reads these lines and writes each type out, so that the
// published package needs neither import. A type that equals an earlier one is written as its name.

export type Paging = Static<typeof shared.Paging>
export type Meta = Static<typeof shared.Meta>
export type Env = Static<typeof shared.Env>
export type AuditAction = Static<typeof audit.AuditAction>
export type AuditChain = Static<typeof audit.AuditChain>
export type AuditExport = Static<typeof audit.AuditExport>
export type AuditLog = Static<typeof audit.AuditLog>
export type AuditLogList = Static<typeof audit.AuditLogList>
export type BillingUsage = Static<typeof usage.BillingUsage>
export type BillingUsageQuery = Static<typeof usage.BillingUsageQuery>
export type ChangedMember = Static<typeof members.ChangedMember>
export type CreatedInvite = Static<typeof invites.CreatedInvite>
export type CreatedKey = Static<typeof keys.CreatedKey>
export type CreatedSecretKey = Static<typeof secretKeys.CreatedSecretKey>
export type DailyUsage = Static<typeof usage.DailyUsage>
export type DailyUsageQuery = Static<typeof usage.DailyUsageQuery>
export type DeletedProject = Static<typeof projects.DeletedProject>
export type DeletedTenant = Static<typeof tenants.DeletedTenant>
export type EmbedToken = Static<typeof embed.EmbedToken>
export type EmbedTokenCreate = Static<typeof embed.EmbedTokenCreate>
export type EmbedTokensRevoked = Static<typeof tenants.EmbedTokensRevoked>
export type FleetNode = Static<typeof nodes.FleetNode>
export type Invite = Static<typeof invites.Invite>
export type InviteCreate = Static<typeof invites.InviteCreate>
export type InviteList = Static<typeof invites.InviteList>
export type Key = Static<typeof keys.Key>
export type KeyCreate = Static<typeof keys.KeyCreate>
export type KeyExample = Static<typeof overview.KeyExample>
export type KeyExamples = Static<typeof overview.KeyExamples>
export type KeyList = Static<typeof keys.KeyList>
export type KeyUpdate = Static<typeof keys.KeyUpdate>
export type KeyUsage = Static<typeof usage.KeyUsage>
export type KeyUsageQuery = Static<typeof usage.KeyUsageQuery>
export type Member = Static<typeof members.Member>
export type MemberList = Static<typeof members.MemberList>
export type MemberUpdate = Static<typeof members.MemberUpdate>
export type NodeExample = Static<typeof overview.NodeExample>
export type NodeList = Static<typeof nodes.NodeList>
export type Overview = Static<typeof overview.Overview>
export type OverviewQuery = Static<typeof overview.OverviewQuery>
export type Permission = Static<typeof permissions.Permission>
export type Project = Static<typeof projects.Project>
export type ProjectCreate = Static<typeof projects.ProjectCreate>
export type ProjectList = Static<typeof projects.ProjectList>
export type ProjectUpdate = Static<typeof projects.ProjectUpdate>
export type ReadSecretKey = Static<typeof secretKeys.ReadSecretKey>
export type RateLimit = Static<typeof shared.RateLimit>
export type RemovedMember = Static<typeof members.RemovedMember>
export type RevokedKey = Static<typeof keys.RevokedKey>
export type RevokedSecretKey = Static<typeof secretKeys.RevokedSecretKey>
export type RotatedKey = Static<typeof keys.RotatedKey>
export type RotatedSecretKey = Static<typeof secretKeys.RotatedSecretKey>
export type SecretKey = Static<typeof secretKeys.SecretKey>
export type SecretKeyCreate = Static<typeof secretKeys.SecretKeyCreate>
export type SecretKeyList = Static<typeof secretKeys.SecretKeyList>
export type SecretKeyRevoke = Static<typeof secretKeys.SecretKeyRevoke>
export type SecurityEvent = Static<typeof securityEvents.SecurityEvent>
export type SecurityEventKind = Static<typeof securityEvents.SecurityEventKind>
export type SecurityEventList = Static<typeof securityEvents.SecurityEventList>
export type Tenant = Static<typeof tenants.Tenant>
export type TenantCreate = Static<typeof tenants.TenantCreate>
export type TenantList = Static<typeof tenants.TenantList>
export type TenantUpdate = Static<typeof tenants.TenantUpdate>
export type TenantUsage = Static<typeof usage.TenantUsage>
export type TenantUsageQuery = Static<typeof usage.TenantUsageQuery>
export type Workspace = Static<typeof workspace.Workspace>
export type WorkspaceUpdate = Static<typeof workspace.WorkspaceUpdate>
