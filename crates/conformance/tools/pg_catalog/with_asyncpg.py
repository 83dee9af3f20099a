"""Asks for everything that asyncpg asks PostgreSQL's catalog for, so that the server's log has the statements."""
import asyncio, asyncpg
async def main():
    c = await asyncpg.connect(host='/tmp/pgref', port=54329, user='postgres', database='shop', server_settings={'application_name':'asyncpg'})
    await c.fetch('select * from customer'); await c.fetch('select feeling from customer')
    await c.fetch("select array_agg(feeling) from customer")
    await c.fetch("select customer from customer")
    await c.set_type_codec('mood', encoder=str, decoder=str)
    await c.set_type_codec('numeric', schema='pg_catalog', encoder=str, decoder=str)
    await c.execute('select 1'); await c.reset(); await c.close()
asyncio.run(main())
