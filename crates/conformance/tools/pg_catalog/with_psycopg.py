"""Asks for everything that psycopg asks PostgreSQL's catalog for, so that the server's log has the statements."""
import psycopg
from psycopg.types import TypeInfo
from psycopg.types.enum import EnumInfo
from psycopg.types.composite import CompositeInfo
from psycopg.types.range import RangeInfo
from psycopg.types.multirange import MultirangeInfo
c = psycopg.connect("host=/tmp/pgref port=54329 user=postgres dbname=shop application_name=psycopg")
TypeInfo.fetch(c,'mood'); EnumInfo.fetch(c,'mood'); CompositeInfo.fetch(c,'customer'); TypeInfo.fetch(c,'text'); RangeInfo.fetch(c,'int4range'); MultirangeInfo.fetch(c,'int4multirange')
c.execute("select 1"); c.close()
