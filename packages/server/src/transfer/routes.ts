import { transferRoutes } from '@keyrail/contract/routes/transfer'
import { importBytesMax } from '@keyrail/contract/vendor/imports'
import { editors, ownerBackends, unlimitedOnly, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { exportKeys } from './export.ts'
import { importKeys } from './import.ts'
import type { TransferNeeds } from './needs.ts'

const serve = servedWith<TransferNeeds>()

export const routes = serve(transferRoutes, {
  'POST /v1/keys/import': {
    access: withinProjects(editors),
    bodyLimit: importBytesMax,
    handle: (deps, { db, principal, body, replay }) => importKeys({ deps, db, principal }, body, replay),
  },
  'GET /v1/keys/export': {
    access: unlimitedOnly(ownerBackends),
    handle: async (deps, { db, principal, query, judgeAgain }) => ({
      body: await exportKeys({ deps, db, principal }, query, judgeAgain),
    }),
  },
})
