/** The advisory lock under which requests check the cap of a tenant one at a time. */
export const tenantCapName = (tenantId: string) => `keyrail.tenant_cap ${tenantId}`
