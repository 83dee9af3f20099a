-- Rows with the names and the types of ClickBench's file, as far as its questions use them.
CREATE TABLE made AS SELECT (i * 7919) % 99991 * 92233720368541 AS "WatchID", CASE WHEN i % 5 = 0 THEN 'Google - page ' || i % 7 WHEN i % 11 = 0 THEN '' ELSE 'Title ' || i % 40 END AS "Title",
 TIMESTAMP '2013-07-01 00:00:00' + INTERVAL (i * 440) SECOND AS "EventTime", (TIMESTAMP '2013-07-01 00:00:00' + INTERVAL (i * 440) SECOND)::DATE AS "EventDate",
 CASE WHEN i % 3 = 0 THEN 62 ELSE (i % 17)::INTEGER END AS "CounterID", (i * 48271 % 4093)::INTEGER - 2000 AS "ClientIP", (i % 23)::INTEGER AS "RegionID",
 CASE WHEN i % 50 = 0 THEN 435090932899640449 ELSE i * 31 % 997 * 1000000007 END AS "UserID",
 CASE WHEN i % 9 = 0 THEN '' WHEN i % 4 = 0 THEN 'http://www.google.ru/search?q=' || i % 100 ELSE 'http://site' || i % 31 || '.ru/p/' || i % 300 END AS "URL",
 CASE WHEN i % 6 = 0 THEN '' WHEN i % 2 = 0 THEN 'https://www.ref' || i % 13 || '.com/a/' || i % 70 ELSE 'http://ref' || i % 19 || '.org/x' END AS "Referer",
 (i % 2)::SMALLINT AS "IsRefresh", (1000 + i % 900)::SMALLINT AS "ResolutionWidth", CASE WHEN i % 8 = 0 THEN 'iPhone ' || i % 5 ELSE '' END AS "MobilePhoneModel", (i % 8)::SMALLINT AS "MobilePhone",
 (i % 3 - 1)::SMALLINT AS "TraficSourceID", CASE WHEN i % 4 = 0 THEN (i % 3)::SMALLINT ELSE 0::SMALLINT END AS "SearchEngineID", CASE WHEN i % 3 = 1 THEN 'phrase ' || i * 17 % 211 ELSE '' END AS "SearchPhrase",
 CASE WHEN i % 10 = 0 THEN (i % 40)::SMALLINT ELSE 0::SMALLINT END AS "AdvEngineID", (i % 4 / 3)::SMALLINT AS "DontCountHits", (i % 5 / 2)::SMALLINT AS "IsLink", (i % 12 / 11)::SMALLINT AS "IsDownload",
 CASE WHEN i % 4 = 0 THEN 3594120000172545465 ELSE i % 20 END AS "RefererHash", CASE WHEN i % 6 = 0 THEN 2868770270353813622 ELSE i % 90 END AS "URLHash", (i % 37 * 40)::SMALLINT AS "WindowClientWidth", (i % 41 * 30)::SMALLINT AS "WindowClientHeight"
 FROM range(6000::BIGINT) t(i);
