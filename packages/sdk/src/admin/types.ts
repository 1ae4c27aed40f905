import type * as embed from '@keyrail/contract/embed'
import type * as securityEvents from '@keyrail/contract/security-events'
import type * as shared from '@keyrail/contract/shared'
import type * as audit from '@keyrail/contract/vendor/audit'
import type * as bulk from '@keyrail/contract/vendor/bulk'
import type * as ended from '@keyrail/contract/vendor/ended'
import type * as explain from '@keyrail/contract/vendor/explain'
import type * as imports from '@keyrail/contract/vendor/imports'
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
import type * as verify from '@keyrail/contract/verify'
import type { Static } from 'typebox'
import type { Camel } from './names.ts'

// Bodies and answers of the service, from its own schemas, with the names of this package. `build.ts` reads these lines and writes
// each type out, so that the published package needs no import. A type that equals an earlier one is written as its name.

export type Paging = Camel<Static<typeof shared.Paging>>
export type Meta = Static<typeof shared.Meta>
export type Env = Static<typeof shared.Env>
export type AuditAction = Static<typeof audit.AuditAction>
export type AuditChain = Camel<Static<typeof audit.AuditChain>>
export type AuditExport = Camel<Static<typeof audit.AuditExport>>
export type AuditLog = Camel<Static<typeof audit.AuditLog>>
export type AuditLogList = Camel<Static<typeof audit.AuditLogList>>
export type BillingUsage = Camel<Static<typeof usage.BillingUsage>>
export type BillingUsageQuery = Camel<Static<typeof usage.BillingUsageQuery>>
export type BulkFailure = Camel<Static<typeof bulk.BulkFailure>>
export type BulkOperation = Camel<Static<typeof bulk.BulkOperation>>
export type BulkPropagation = Camel<Static<typeof bulk.BulkPropagation>>
export type Cascade = Camel<Static<typeof secretKeys.Cascade>>
export type ChangedMember = Camel<Static<typeof members.ChangedMember>>
export type CreatedInvite = Camel<Static<typeof invites.CreatedInvite>>
export type CreatedKey = Camel<Static<typeof keys.CreatedKey>>
export type CreatedSecretKey = Camel<Static<typeof secretKeys.CreatedSecretKey>>
export type DailyUsage = Camel<Static<typeof usage.DailyUsage>>
export type DailyUsageQuery = Camel<Static<typeof usage.DailyUsageQuery>>
export type Refusals = Camel<Static<typeof usage.Refusals>>
export type RefusalsQuery = Camel<Static<typeof usage.RefusalsQuery>>
export type TopUsage = Camel<Static<typeof usage.TopUsage>>
export type TopUsageQuery = Camel<Static<typeof usage.TopUsageQuery>>
export type DeletedProject = Camel<Static<typeof projects.DeletedProject>>
export type DeletedTenant = Camel<Static<typeof tenants.DeletedTenant>>
export type Descendants = Camel<Static<typeof secretKeys.Descendants>>
export type EmbedToken = Camel<Static<typeof embed.EmbedToken>>
export type EmbedTokenCreate = Camel<Static<typeof embed.EmbedTokenCreate>>
export type EmbedTokensRevoked = Camel<Static<typeof tenants.EmbedTokensRevoked>>
export type EndedKeysDeleted = Camel<Static<typeof ended.EndedKeysDeleted>>
export type EndedKeysQuery = Camel<Static<typeof ended.EndedKeysQuery>>
export type EndedSecretKeysQuery = Camel<Static<typeof ended.EndedSecretKeysQuery>>
export type FleetNode = Camel<Static<typeof nodes.FleetNode>>
export type Invite = Camel<Static<typeof invites.Invite>>
export type InviteCreate = Camel<Static<typeof invites.InviteCreate>>
export type InviteList = Camel<Static<typeof invites.InviteList>>
export type Key = Camel<Static<typeof keys.Key>>
export type KeyCount = Camel<Static<typeof bulk.KeyCount>>
export type KeyCountBody = Camel<Static<typeof bulk.KeyCountBody>>
export type KeyCreate = Camel<Static<typeof keys.KeyCreate>>
export type KeyExplain = Camel<Static<typeof explain.KeyExplain>>
export type KeyExplainQuery = Camel<Static<typeof explain.KeyExplainQuery>>
export type KeyExplanation = Camel<Static<typeof explain.KeyExplanation>>
/** A line of an export of keys. */
export type ExportedKey = Camel<Static<typeof imports.ExportedKey>>
export type KeyExport = Camel<Static<typeof imports.KeyExport>>
export type KeyImport = Camel<Static<typeof imports.KeyImport>>
export type KeyImported = Camel<Static<typeof imports.KeyImported>>
export type KeyExample = Camel<Static<typeof overview.KeyExample>>
export type KeyExamples = Camel<Static<typeof overview.KeyExamples>>
export type KeyFilter = Camel<Static<typeof bulk.KeyFilter>>
export type KeyList = Camel<Static<typeof keys.KeyList>>
export type KeyUpdate = Camel<Static<typeof keys.KeyUpdate>>
export type KeyUsage = Camel<Static<typeof usage.KeyUsage>>
export type KeyVerdict = Camel<Static<typeof verify.KeyVerdict>>
export type KeyVerify = Camel<Static<typeof verify.KeyVerify>>
export type KeyUsageQuery = Camel<Static<typeof usage.KeyUsageQuery>>
export type Member = Camel<Static<typeof members.Member>>
export type MemberList = Camel<Static<typeof members.MemberList>>
export type MemberUpdate = Camel<Static<typeof members.MemberUpdate>>
export type NodeExample = Camel<Static<typeof overview.NodeExample>>
export type NodeList = Camel<Static<typeof nodes.NodeList>>
export type Overview = Camel<Static<typeof overview.Overview>>
export type OverviewQuery = Camel<Static<typeof overview.OverviewQuery>>
export type Permission = Static<typeof permissions.Permission>
export type Project = Camel<Static<typeof projects.Project>>
export type ProjectCreate = Camel<Static<typeof projects.ProjectCreate>>
export type ProjectList = Camel<Static<typeof projects.ProjectList>>
export type ProjectUpdate = Camel<Static<typeof projects.ProjectUpdate>>
export type ReadSecretKey = Camel<Static<typeof secretKeys.ReadSecretKey>>
export type RateLimit = Camel<Static<typeof shared.RateLimit>>
export type RemovedMember = Camel<Static<typeof members.RemovedMember>>
/** Which keys are resumed. */
export type ResumeMany = Camel<Static<typeof bulk.ResumeMany>>
export type RevokedKey = Camel<Static<typeof keys.RevokedKey>>
/** A key that was paused or resumed. */
export type PausedKey = Camel<Static<typeof keys.PausedKey>>
export type RevokedSecretKey = Camel<Static<typeof secretKeys.RevokedSecretKey>>
export type Role = Static<typeof shared.Role>
export type RotatedKey = Camel<Static<typeof keys.RotatedKey>>
export type RotatedSecretKey = Camel<Static<typeof secretKeys.RotatedSecretKey>>
export type SecretKey = Camel<Static<typeof secretKeys.SecretKey>>
export type SecretKeyCreate = Camel<Static<typeof secretKeys.SecretKeyCreate>>
export type SecretKeyList = Camel<Static<typeof secretKeys.SecretKeyList>>
export type SecretKeyRevoke = Camel<Static<typeof secretKeys.SecretKeyRevoke>>
export type SecretKeyUpdate = Camel<Static<typeof secretKeys.SecretKeyUpdate>>
export type SecurityEvent = Camel<Static<typeof securityEvents.SecurityEvent>>
export type SecurityEventKind = Static<typeof securityEvents.SecurityEventKind>
export type SecurityEventList = Camel<Static<typeof securityEvents.SecurityEventList>>
/** A tenant that was suspended or resumed. */
export type SettledTenant = Camel<Static<typeof tenants.SettledTenant>>
export type SettledBulk = Camel<Static<typeof bulk.SettledBulk>>
/** Which keys are revoked or paused, and why. */
export type StopMany = Camel<Static<typeof bulk.StopMany>>
export type Tenant = Camel<Static<typeof tenants.Tenant>>
export type TenantCreate = Camel<Static<typeof tenants.TenantCreate>>
export type TenantList = Camel<Static<typeof tenants.TenantList>>
export type TenantUpdate = Camel<Static<typeof tenants.TenantUpdate>>
export type TenantUsage = Camel<Static<typeof usage.TenantUsage>>
export type TenantUsageQuery = Camel<Static<typeof usage.TenantUsageQuery>>
export type Workspace = Camel<Static<typeof workspace.Workspace>>
export type WorkspaceUpdate = Camel<Static<typeof workspace.WorkspaceUpdate>>
