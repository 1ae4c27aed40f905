// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import { expressApi } from './express-api.ts'
import { testProtectedApi } from './protected-api.ts'

await testProtectedApi('Express 4', expressApi(express4))
