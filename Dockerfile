# The image of a node: its program and the packages it needs, nothing else. PostgreSQL and Redis are elsewhere (docker-compose.yml).
# Any Node.js from 20.19 up will do.
ARG NODE_VERSION=22

FROM node:${NODE_VERSION}-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --include=dev --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json vite.config.ts ./
COPY src ./src
COPY cli ./cli
COPY cluster ./cluster
COPY scripts ./scripts
COPY bench ./bench
COPY test/kit ./test/kit
COPY test/sim ./test/sim
COPY web ./web
RUN npm run build

# Optional packages are PostgreSQL's own programs, for `npm start` alone.
FROM node:${NODE_VERSION}-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:${NODE_VERSION}-slim
ENV NODE_ENV=production CARILLON_HOST=0.0.0.0 CARILLON_PORT=7117
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
USER node
EXPOSE 7117
# Alive, not ready: a node that waits for a store is not to be restarted.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.CARILLON_PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Replicas have the same settings: a node is called by its container's name unless told otherwise. Run it with --init: signals and
# children are not a shell's business, so the shell is gone before the node starts.
CMD ["sh", "-c", "export CARILLON_NODE_NAME=\"${CARILLON_NODE_NAME:-${HOSTNAME:-node-1}}\"; exec node dist/node.js"]
