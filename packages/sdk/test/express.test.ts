import express from 'express'
import { expressApi } from './express-api.ts'
import { testProtectedApi } from './protected-api.ts'

await testProtectedApi('Express 5', expressApi(express))
