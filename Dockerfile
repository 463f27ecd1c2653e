# The service on SQLite: one process, its data in the volume /var/lib/tightbeam. `docs/operating.md` says how to run it.

# Any Node 20 or newer: `npm ci` brings the Node that is pinned in package.json and runs the service.
FROM node:24-trixie-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY console/package.json console/
COPY sdk/package.json sdk/
RUN npm ci
COPY . .
RUN npm run dist -- /opt/tightbeam

FROM debian:trixie-slim
# Node needs libatomic. Its version is the one of the base image.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libatomic1 \
  && rm -rf /var/lib/apt/lists/* \
  && groupadd --gid 10001 tightbeam \
  && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin tightbeam \
  && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/tightbeam \
  && ln -s /opt/tightbeam/bin/tightbeam /usr/local/bin/tightbeam
COPY --from=build /opt/tightbeam /opt/tightbeam
ENV HOST=0.0.0.0 PORT=8080 TB_DATA_DIR=/var/lib/tightbeam
# A number, so that a cluster can see that it is not root.
USER 10001:10001
VOLUME /var/lib/tightbeam
EXPOSE 8080
STOPSIGNAL SIGTERM
# Unhealthy while the service starts, stops, or cannot write.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["/opt/tightbeam/bin/node", "-e", "require('http').get(`http://127.0.0.1:${process.env.PORT}/readyz`, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["/opt/tightbeam/bin/tightbeam"]
CMD ["serve"]
